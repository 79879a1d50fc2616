/** What is said at the field of a value that is compared with a fact. */
export const valueFaults = {
  days: (most: number) => `Type a whole number of days from 1 to ${most.toLocaleString('en')}.`,
  number: 'Type a number.',
  integer: 'Type a whole number.',
};
