// The inner loops of fuzzy clustering for processors with AVX2 (see fuzzy_loops.hpp); the build compiles this
// file for that instruction set. Elsewhere the baseline is used.
#include "partition/fuzzy_loops_body.hpp"

namespace shoal {

#ifdef __AVX2__
const FuzzyLoops& avx2_fuzzy_loops() { return kLoops; }
#else
const FuzzyLoops& avx2_fuzzy_loops() { return baseline_fuzzy_loops(); }
#endif

}  // namespace shoal
