// Compiles and runs random programs, for a fixed time.
//
//   fuzz --seconds N [--seed S]
//
// Program k of seed S is the same on every machine, whatever N is.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/text.h"
#include "naive.h"
#include "programs.h"

namespace moriejit::test {
namespace {

bool calls_host(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kOp && node.op->calls_host) return true;
  }
  return false;
}

void check_program(const Program& program, Rng& rng) {
  const Capture capture = capture_op_list(program.ops, program.x.view(), fresh_hooks());
  if (!calls_host(capture.graph)) {
    require_none(check_round_trip(capture.graph), "a captured graph");
    check_texts(capture.graph, rng);
  }
  check_values(program, capture);
  check_compile(program, capture);
  check_gradient(program, capture, rng);
}

// What is wrong with program or graph `k`; nothing where all is well.
std::string failure_of(uint64_t seed, int64_t k) {
  Rng rng(seed + static_cast<uint64_t>(k) * 0x9E3779B97F4A7C15ULL);
  std::string text;
  try {
    if (k % 4 == 3) {
      const Graph graph = random_graph(rng);
      text = full_text(graph);
      check_passes(graph);
      check_texts(graph, rng);
    } else {
      const Program program = random_program(rng);
      text = describe(program);
      check_program(program, rng);
    }
    return "";
  } catch (const Failure& failure) {
    return failure.why + "\n" + text;
  } catch (const std::exception& error) {
    return std::string("error: ") + error.what() + "\n" + text;
  }
}

int run_programs(double seconds, uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const std::string missing = ops_without_row();
  if (!missing.empty()) std::printf("FAIL no formula in naive.cpp:%s\n", missing.c_str());
  int64_t passed = 0, failed = missing.empty() ? 0 : 1;
  const auto start = Clock::now();
  for (int64_t k = 0; std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++k) {
    const std::string why = failure_of(seed, k);
    ++(why.empty() ? passed : failed);
    if (why.empty()) continue;
    std::printf("FAIL program %lld: %s\n", static_cast<long long>(k), why.c_str());
    if (failed >= 10) break;
  }
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed),
              static_cast<long long>(failed));
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace moriejit::test

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--seconds") seconds = std::atof(argv[i + 1]);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: fuzz --seconds N [--seed S]\n");
    return 2;
  }
  return moriejit::test::run_programs(seconds, seed);
}
