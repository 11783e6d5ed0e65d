#include "scree/motion.h"
namespace scree {
void Motion::sample(double, Eigen::Ref<Eigen::VectorXd>, Eigen::Ref<Eigen::VectorXd>) const {}
}
