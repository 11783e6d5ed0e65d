// The table of integrators: every one has a row, and what is said of integrators is read from it.
#include "integrators/traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scree/batch.h"
#include "scree/derivatives.h"
#include "scree/error.h"
#include "scree/simulation.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(", ", at), names.size());
    out.push_back(names.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

template <class Call> std::string message_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> listed(const std::string& message) {
  const std::string before = "expected one of: ";
  const size_t at = message.find(before);
  return at == std::string::npos ? std::vector<std::string>{} : split(message.substr(at + before.size()));
}

TEST(Traits, EveryIntegratorHasOneRowAndItsOwnName) {
  std::set<IntegratorType> types;
  std::set<std::string> names;
  bool papers = false;
  for (const IntegratorTraits& row : all_integrators()) {
    EXPECT_TRUE(types.insert(row.type).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&traits(row.type), &row);
    EXPECT_EQ(integrator_from_name(row.name), row.type);
    EXPECT_EQ(std::string(integrator_name(row.type)), row.name);
    EXPECT_FALSE(row.for_users() && papers) << row.name << ": those for users come first";
    papers = papers || !row.for_users();
  }
  // No gaps: the types are 0 to the last one.
  EXPECT_EQ(static_cast<size_t>(*types.rbegin()) + 1, types.size());
  EXPECT_EQ(*types.rbegin(), IntegratorType::pbfd_coulomb2) << "the last of the enum; a new one needs a row";
  EXPECT_EQ(integrators().size(), types.size());
  EXPECT_EQ(std::ranges::count_if(all_integrators(), &IntegratorTraits::for_users), 6);
  EXPECT_EQ(all_integrators()[0].type, StepOptions{}.integrator);
}

TEST(Traits, ColumnsAgreeWithEachOther) {
  for (const IntegratorTraits& row : all_integrators()) {
    EXPECT_EQ(row.friction.has_value(), row.contact == ContactKind::smooth) << row.name;
    EXPECT_EQ(row.lanes, row.contact == ContactKind::smooth && !row.from_energy()) << row.name;
    EXPECT_TRUE(row.contact == ContactKind::law || !row.law_derivative) << row.name;
    EXPECT_TRUE(!row.error || row.stages == 2) << row.name;
    EXPECT_EQ(knows_contact(row.type), row.contact != ContactKind::none) << row.name;
    EXPECT_EQ(uses_smooth_contact(row.type), row.contact == ContactKind::smooth) << row.name;
    EXPECT_EQ(estimates_error(row.type), row.error) << row.name;
  }
}

TEST(Traits, MessagesListWhatTheTableHas) {
  const auto names = [](auto has) { return split(names_of_integrators(has)); };
  EXPECT_EQ(listed(message_of([] { integrator_from_name("euler"); })), split(integrator_names()));
  EXPECT_EQ(listed(message_of([] { check_accuracy(IntegratorType::pbd); })),
            names([](const auto& row) { return row.error; }));
  EXPECT_EQ(listed(message_of([] { check_contact(IntegratorType::rk4, *make_coulomb({})); })),
            names([](const auto& row) { return row.contact != ContactKind::none; }));
  BatchOptions batch;
  EXPECT_NO_THROW(batch.validate()) << "the default runs in lanes";
  batch.step.integrator = IntegratorType::pbd;
  EXPECT_EQ(listed(message_of([&] { batch.validate(); })), names([](const auto& row) { return row.lanes; }));
}

// What a row promises, the integrator does: it steps, has derivatives or says that it has none, runs in lanes or not.
TEST(Traits, RowsAreTrueOfTheSteps) {
  const Model model = test::pendulum();
  const Control control(model);
  for (const IntegratorTraits& row : all_integrators()) {
    const StepOptions options{.integrator = row.type, .dt = 1e-3};
    StepWorkspace workspace(model);
    State state = make_state(model, Eigen::VectorXd::Constant(1, 0.5), Eigen::VectorXd::Zero(1));
    const State start = state;
    const StepReport report = step(model, control, options, state, workspace);
    EXPECT_TRUE(report.converged()) << row.name;
    EXPECT_NEAR(state.time, 1e-3, 1e-15) << row.name;
    // The flight of `event` has an error and an accuracy of its own.
    EXPECT_TRUE(row.scheme == Scheme::events || (report.error > 0) == row.error) << row.name;

    StepDerivatives derivatives;
    const auto differentiate = [&](State from) {
      return message_of([&] { (void)step_with_derivatives(model, control, options, from, workspace, derivatives); });
    };
    EXPECT_EQ(differentiate(start) == "no error", row.derivatives != HasDerivatives::no) << row.name;
    if (row.derivatives != HasDerivatives::no) {
      State later = state;
      later.body_rates.resize(model.bodies().size());
      EXPECT_EQ(differentiate(later) == "no error", row.derivatives == HasDerivatives::yes) << row.name;
    }

    BatchOptions batch;
    batch.step = options;
    EXPECT_EQ(message_of([&] { batch.validate(); }) == "no error", row.lanes) << row.name;
  }
}

TEST(Traits, HelpListsSixToChooseFromAndThoseOfThePapers) {
  const Outcome help = Process({cli_program(), "sim", "--help"}).wait();
  ASSERT_EQ(help.exit_code, 0);
  const size_t papers = help.out.find("of the papers: ");
  ASSERT_NE(papers, std::string::npos);
  const std::string line = help.out.substr(papers + 15, help.out.find('\n', papers) - papers - 15);
  EXPECT_EQ(split(line), split(names_of_integrators([](const auto& row) { return !row.for_users(); })));
  for (const IntegratorTraits& row : all_integrators()) {
    if (!row.for_users()) continue;
    const size_t role = help.out.find(row.role);
    ASSERT_LT(role, papers) << row.name;
    const size_t begin = help.out.rfind('\n', role);
    EXPECT_NE(help.out.substr(begin, role - begin).find(std::string(" ") + row.name + " "), std::string::npos)
        << row.name;
  }
}

}  // namespace
}  // namespace scree
