// Compiles and runs random programs, for a fixed time.
//
//   fuzz --seconds N [--seed S] [--from K] [--verbose 1]
//
// Program k of seed S is always the same, whatever N is. Where one ends the process, --verbose says
// which: it prints each program before it runs. --from starts with program K.
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

struct Options {
  double seconds = 0;
  uint64_t seed = 1;
  int64_t from = 0;
  bool verbose = false;
};

// Program k: an op list or, every fourth time, a graph.
class Trial {
 public:
  Trial(uint64_t seed, int64_t k)
      : rng_(seed + static_cast<uint64_t>(k) * 0x9E3779B97F4A7C15ULL), is_graph_(k % 4 == 3) {
    if (is_graph_) {
      graph_ = random_graph(rng_);
    } else {
      program_ = random_program(rng_);
    }
  }

  std::string text() const { return is_graph_ ? full_text(graph_) : describe(program_); }

  // What is wrong; nothing where all is well.
  std::string failure() {
    try {
      is_graph_ ? check_graph() : check_program(program_, rng_);
      return "";
    } catch (const Failure& failure) {
      return failure.why;
    } catch (const std::exception& error) {
      return std::string("error: ") + error.what();
    }
  }

 private:
  void check_graph() {
    check_chain_order(rng_);
    check_fixed(rng_);
    check_traced(rng_);
    check_structure(graph_, rng_);
    check_passes(graph_);
    check_gradient(graph_, rng_);
    check_texts(graph_, rng_);
  }

  Rng rng_;
  bool is_graph_;
  Graph graph_;
  Program program_;
};

int run_programs(const Options& options) {
  using Clock = std::chrono::steady_clock;
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  const std::string missing = ops_without_row();
  if (!missing.empty()) std::printf("FAIL no formula in naive.cpp:%s\n", missing.c_str());
  int64_t passed = 0, failed = missing.empty() ? 0 : 1;
  try {
    check_plans();
    check_host();
    check_control_gradients();
  } catch (const Failure& failure) {
    std::printf("FAIL plans: %s\n", failure.why.c_str());
    ++failed;
  }
  const auto start = Clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (int64_t k = options.from; seconds() < options.seconds && failed < 10; ++k) {
    const long long number = k;
    Trial trial(options.seed, k);
    if (options.verbose) std::printf("program %lld\n%s", number, trial.text().c_str());
    const std::string why = trial.failure();
    ++(why.empty() ? passed : failed);
    if (why.empty()) continue;
    std::printf("FAIL program %lld: %s\n%s", number, why.c_str(), trial.text().c_str());
  }
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed),
              static_cast<long long>(failed));
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace moriejit::test

int main(int argc, char** argv) {
  moriejit::test::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--from") options.from = std::atoll(argv[i + 1]);
    if (name == "--verbose") options.verbose = std::atoi(argv[i + 1]) != 0;
  }
  if (options.seconds <= 0) {
    std::fprintf(stderr, "usage: fuzz --seconds N [--seed S] [--from K] [--verbose 1]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  return moriejit::test::run_programs(options);
}
