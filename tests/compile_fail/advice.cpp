// SPDX-License-Identifier: Apache-2.0
// Advice is read from a list that is kept: the loop over a temporary's items would read what is gone.
#include "cox/pace/advice.hpp"

int main() {
  const cox::pace::AdviceList list = cox::pace::advise({});
  int items = 0;
  for (const cox::pace::Advice& a : list.items()) items += a.why != nullptr;
#ifdef ITEMS_OF_A_TEMPORARY
  for (const cox::pace::Advice& a : cox::pace::advise({}).items()) items += a.why != nullptr;
#endif
  return items;
}
