const devices = (count: number) =>
  count === 1 ? '1 device' : `${count.toLocaleString('en')} devices`;

/** Tagging and grouping of selected devices. */
export const marksText = {
  open: 'Tag or group …',
  title: (count: number) => `Tag or group ${devices(count)}`,
  what: 'What to do',
  add: 'Add to',
  remove: 'Remove from',
  kind: 'Kind',
  types: { tags: 'Tag', device_groups: 'Static group' },
  choose: 'Choose …',
  newOne: { tags: 'A new tag', device_groups: 'A new static group' },
  none: { tags: 'There are no tags.', device_groups: 'There are no static groups.' },
  newName: 'Name',
  cancel: 'Cancel',
  submit: {
    add: (count: number) => `Add ${devices(count)}`,
    remove: (count: number) => `Remove ${devices(count)}`,
  },
  done: {
    add: (count: number, name: string) => `${devices(count)} added to ${name}.`,
    remove: (count: number, name: string) => `${devices(count)} removed from ${name}.`,
  },
  confirm: (count: number) => `${devices(count)} match now, which is many.`,
  typed: (count: number) => `Type ${count} to confirm`,
};
