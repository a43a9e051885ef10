library(testthat)
library(moriejit)

test_check("moriejit")
