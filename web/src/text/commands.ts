const devices = (count: number) =>
  count === 1 ? '1 device' : `${count.toLocaleString('en')} devices`;
const number = (count: number) => count.toLocaleString('en');

export const commandsText = {
  title: 'Commands',
  send: 'Send a command',
  devices,
  number,
  cancel: 'Cancel',
  more: 'Show more',
  loadingMore: 'Loading …',
  yes: 'Yes',
  no: 'No',
  readOnly: (role: string) =>
    `Sending commands needs the role operator. You are signed in as ${role}.`,

  targets: {
    title: 'Devices',
    none: 'Choose which devices get the command.',
    change: 'Choose other devices',
    list: 'Back to the devices',
    invalid: 'The filter in the address is not valid. Choose the devices again.',
    selected: (count: number) => `${devices(count)} selected`,
    filtered: (count: number) =>
      `${devices(count)} that ${count === 1 ? 'matches' : 'match'} the filter`,
    all: (count: number) => `All enrolled devices: ${number(count)}`,
    marked: (count: number, names: string) => `${devices(count)} of ${names}`,
    tag: (name: string) => `the tag ${name}`,
    group: (name: string) => `the group ${name}`,
    examples: (names: string, rest: number) =>
      rest > 0 ? `${names} and ${number(rest)} more` : names,
    how: 'Choose by',
    ways: {
      all: 'All enrolled devices',
      tags: 'Tags',
      groups: 'Groups',
      search: 'Name, serial number or user',
    },
    noTags: 'There are no tags yet.',
    noGroups: 'There are no groups yet.',
    tagsHint: 'Devices that have one of them.',
    groupsHint: 'Devices of one of them.',
    search: 'Search devices',
    searchHint:
      'Name, serial number, UDID, MAC address, IMEI, user or asset tag; at least 3 characters.',
    found: 'Devices found',
    noneFound: 'No device matches.',
    firstFound: (shown: number, total: number) =>
      `The first ${number(shown)} of ${number(total)} are shown. Search for more of the name.`,
    use: 'Use these devices',
    takeCount: (count: number) => `Use ${devices(count)}`,
    unnamed: (id: number) => `Device ${id}`,
  },

  choice: {
    title: 'Command',
    search: 'Search commands',
    none: 'No command matches.',
    change: 'Choose another command',
    destructive: 'Destructive',
    admin: 'Needs admin',
    platforms: 'Platforms',
    allPlatforms: 'All platforms',
    hidden: (count: number) =>
      count === 1
        ? '1 command needs the role admin and is left out.'
        : `${count} commands need the role admin and are left out.`,
    notEligible: 'Not for this device',
    count: (count: number) => (count === 1 ? '1 command' : `${count} commands`),
  },
  topics: {
    ask: 'Ask for information',
    protect: 'Lock, find and erase',
    power: 'Restart and shut down',
    applications: 'Applications and media',
    profiles: 'Profiles and settings',
    users: 'Users and accounts',
    secrets: 'Passwords and keys',
    other: 'Other',
  },

  form: {
    title: 'Settings of the command',
    none: 'This command has no settings.',
    required: 'Required',
    optional: (count: number) =>
      count === 1 ? '1 optional setting' : `${count} optional settings`,
    notSet: 'Not set',
    notSetDefault: (value: string) => `Not set (default: ${value})`,
    choose: 'Choose …',
    lines: 'One on each line.',
    json: 'JSON.',
    jsonObject: 'A JSON object, for example {"Name": "value"}.',
    jsonList: 'A JSON array.',
    base64: 'Base64, or choose a file.',
    file: (label: string) => `${label}: file`,
    fileSize: (name: string, bytes: number) => `${name}: ${number(bytes)} bytes`,
    secret: 'Secret. Needs the role admin.',
    secretSafe: 'Secret.',
    whenLeftOut: (what: string) => `Left empty: ${what}`,
    onlyOn: (platforms: string) => `Only on ${platforms}.`,
    onlySupervised: (platforms: string) => `Only on ${platforms}, supervised.`,
    onlyOnSome: (any: string, supervised: string) => `Only on ${any}; on ${supervised} supervised.`,
    between: (min: string, max: string) => `${min} to ${max}.`,
    atLeast: (min: string) => `At least ${min}.`,
    atMost: (max: string) => `At most ${max}.`,
    add: (label: string) => `Add to ${label}`,
    addKind: 'Kind',
    item: (label: string, place: number) => `${label} ${place}`,
    remove: (label: string) => `Remove ${label}`,
    chosen: (count: number) => `${number(count)} chosen`,
    all: 'All',
    clear: 'None',
    filter: (label: string) => `Search ${label}`,
  },
  problems: {
    required: 'Required.',
    chooseOne: 'Choose at least one.',
    oneNeeded: 'Fill in one of these.',
    number: 'This is not a number.',
    integer: 'This is not a whole number.',
    range: (min: string, max: string) => `Must be ${min} to ${max}.`,
    atLeast: (min: string) => `Must be at least ${min}.`,
    atMost: (max: string) => `Must be at most ${max}.`,
    items: (min: string, max: string) => `Needs ${min} to ${max} entries.`,
    itemsAtLeast: (min: string) => `Needs at least ${min} entries.`,
    itemsAtMost: (max: string) => `Takes at most ${max} entries.`,
    /** Apple's formats are regular expressions; that of a PIN is said in words. */
    format: (format: string) => {
      const digits = /^\\d\{(\d+)\}$/.exec(format)?.[1];
      return digits === undefined ? `Must match ${format}.` : `Must be ${digits} digits.`;
    },
    json: 'This is not valid JSON.',
    jsonObject: 'This is not a JSON object.',
    jsonList: 'This is not a JSON array.',
    date: 'This is not a date.',
    data: 'This is not Base64.',
  },
  options: {
    title: 'Name and time',
    more: 'Time and priority',
    name: 'Name of the batch',
    nameHint: 'For people, in the list of batches.',
    priority: 'Priority',
    priorityHint: 'A whole number; 0 unless set. The highest is sent first.',
    after: 'Send not before',
    expires: 'Expires at',
    expiresHint: 'Not sent after this time.',
    ttl: 'Expires after offers',
    ttlHint: 'How often a device is offered it without an answer; 5 unless set.',
    spread: 'Spread over (minutes)',
    spreadHint: 'Sent evenly over this time, for example for a download. At most 10,080, a week.',
  },

  dryRun: {
    title: 'What will happen',
    noTargets: 'Choose the devices to see who gets the command.',
    incomplete: 'Fill in what is required to see who gets the command.',
    counting: 'Asking which devices get it …',
    faults: 'The server does not accept the form.',
    paused: 'Sign in again to see who gets the command.',
    all: (count: number) =>
      count === 1 ? 'The device gets the command.' : `All ${devices(count)} get the command.`,
    some: (eligible: number, matched: number) =>
      `${number(eligible)} of ${devices(matched)} ${eligible === 1 ? 'gets' : 'get'} the command.`,
    none: (matched: number) =>
      matched === 0
        ? 'No device matches.'
        : matched === 1
          ? 'The device does not get the command.'
          : `None of ${devices(matched)} gets the command.`,
    reduced: (count: number) =>
      `${devices(count)} ${count === 1 ? 'gets' : 'get'} it without some keys`,
    reducedWhy: 'They do not know these keys, which are left out for them.',
    leftOut: (count: number) =>
      count === 1 ? '1 key is left out' : `${number(count)} keys are left out`,
    refused: (count: number) => `${devices(count)} ${count === 1 ? 'does' : 'do'} not get it`,
    more: (count: number) => `${number(count)} more`,
    stale: 'Updating …',
  },
  /** Why devices do not get a command. */
  refusals: {
    device_not_enrolled: 'Not enrolled yet.',
    device_unenrolled: 'Not enrolled any more.',
    no_user_channel: 'The command is for users, and none of the device is enrolled.',
    no_unlock_token: 'The device has not escrowed an unlock token.',
    no_recovery_key:
      'No recovery key of the device is known: give the password of a user who can unlock FileVault.',
    variable_has_no_value: 'The device has no value for a variable.',
    under_way: 'The same command waits already.',
    still_assigned: 'An assignment gives the device this profile.',
    serial_not_proved: 'In Setup Assistant; its serial number is not proved yet.',
    enrolls: 'This is the profile that the device enrolled with.',
    profile_deleted: 'The profile was deleted.',
    unsupported_on_platform: 'Their platform does not have this command.',
    unsupported_on_os_version: 'Their OS version does not have this command.',
    not_supervised: 'The command needs a supervised device.',
    forbidden_by_enrollment: 'The way the device enrolled does not allow this command.',
    validation_failed: 'A value of the device does not fit into the command.',
  } as Record<string, string>,

  sending: {
    submit: (count: number | undefined) =>
      count === undefined ? 'Send' : `Send to ${devices(count)}`,
    /** The button of a destructive command. */
    verbs: {
      ClearPasscode: (what: string) => `Clear the passcode of ${what}`,
      ClearRestrictionsPassword: (what: string) => `Clear the restrictions password of ${what}`,
      DeleteUser: (what: string) => `Delete users of ${what}`,
      DeviceLock: (what: string) => `Lock ${what}`,
      EnableLostMode: (what: string) => `Put ${what} into lost mode`,
      EraseDevice: (what: string) => `Erase ${what}`,
      LogOutUser: (what: string) => `Log out the user of ${what}`,
      RemoveApplication: (what: string) => `Remove the application from ${what}`,
      RemoveMedia: (what: string) => `Remove the media from ${what}`,
      RemoveProfile: (what: string) => `Remove the profile from ${what}`,
      RemoveProvisioningProfile: (what: string) => `Remove the provisioning profile from ${what}`,
      RestartDevice: (what: string) => `Restart ${what}`,
      ShutDownDevice: (what: string) => `Shut down ${what}`,
    } as Record<string, (what: string) => string>,
    /** What such a command does to a device. */
    effects: {
      ClearPasscode: 'The passcode is removed. Anyone who holds the device can open it.',
      ClearRestrictionsPassword: 'The password and the restrictions set on the device are removed.',
      DeleteUser: 'Users are deleted with their data.',
      DeviceLock: 'The screen locks at once. A Mac restarts and needs the PIN.',
      EnableLostMode: 'The device locks and can be located until lost mode is turned off.',
      EraseDevice: 'All data on the device is erased.',
      LogOutUser: 'The present user is logged out. Unsaved work is lost.',
      RemoveApplication: 'The application is removed with its data.',
      RemoveMedia: 'The media is removed.',
      RemoveProfile: 'The profile is removed with all its settings.',
      RemoveProvisioningProfile: 'Applications that need the provisioning profile stop working.',
      RestartDevice: 'The device restarts. Unsaved work is lost.',
      ShutDownDevice: 'The device shuts down and has to be turned on by hand.',
    } as Record<string, string>,
    generic: (title: string, what: string) => `Send ${title} to ${what}`,
    genericEffect: 'This is a large number of devices.',
    notBack: 'To cancel the batch later does not stop devices that have the command already.',
    waiting: 'Devices that are off get it when they contact the server again, unless it expires.',
    typed: (count: number) => `Type ${count} to confirm`,
    changed: (count: number) => `Meanwhile ${devices(count)} would get it. Type the new number.`,
    leaveTitle: 'Leave without sending?',
    leave: 'Leave',
    stay: 'Stay',
    leaveWhy: 'What you filled in is lost.',
  },
};

/** What the numbers mean that a key takes. */
const VALUES: Record<string, Record<string, string>> = {
  Where: { 1: 'Lock screen', 2: 'Home screen', 3: 'Both screens' },
  RecommendationCadence: { 0: 'Both versions', 1: 'The oldest version', 2: 'The newest version' },
  PurchaseMethod: { 0: 'Free, or by redemption code', 1: 'By license' },
  ManagementFlags: {
    1: 'Remove with the MDM profile',
    4: 'No backup of its data',
    5: 'Both: remove with the MDM profile, no backup',
  },
  PasscodeLockGracePeriod: {
    0: 'At once',
    60: '1 minute',
    300: '5 minutes',
    900: '15 minutes',
    3600: '1 hour',
    14400: '4 hours',
  },
  TextSize: { 0: 'Smallest', 4: 'Usual', 11: 'Largest' },
};

/** A value of Apple's, with what it means where it is a mere number. */
export function valueText(key: string, value: unknown): string {
  const meaning = VALUES[key]?.[String(value)];
  return meaning === undefined ? String(value) : `${meaning} (${value})`;
}

/** The reason of a refusal in words; one without a text as its code says it. */
export function refusalOf(code: string): string {
  const known = commandsText.refusals[code];
  if (known !== undefined) return known;
  const words = code.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
