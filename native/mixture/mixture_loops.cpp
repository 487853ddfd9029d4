// The inner loops of the E-step for any processor (see mixture_loops.hpp).
#include "mixture/mixture_loops_body.hpp"

namespace shoal::mixture {

const MixtureLoops& baseline_mixture_loops() { return kLoops; }

}  // namespace shoal::mixture
