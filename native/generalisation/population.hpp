// Limits on the people of a population whom the records of a class may be of, kept class by class.
//
// The population's combinations stand among the table's, those that no record has with a count of 0. Classes of too few
// people are few as those of too few records are: going up unites them.
#pragma once

namespace shoal {

// What is required of each class beside the people of a population whom its records may be of.
struct Population {
  const double* people;  // of each combination
  double fewest, least, largest;  // people of a class; records released of each of them

  static constexpr double kSlack = 1e-12;
  bool too_few(double of_class) const { return of_class < fewest; }
  bool too_present(double records, double of_class) const { return records > (largest + kSlack) * of_class; }
  bool too_absent(double records, double of_class) const { return records < (least - kSlack) * of_class; }
};

}  // namespace shoal
