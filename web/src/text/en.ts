/** Every text that a person reads. */
export const text = {
  product: 'Muster',
  loading: 'Loading',
  retry: 'Try again',
  requestId: (id: string) => `Request ${id}`,
  broken: 'This page has failed.',
  reload: 'Reload the page',
  session: {
    title: 'Sign in',
    token: 'API token',
    hint: 'The first start writes an admin token to DATA_DIR/admin-token. “muster link console” prints a sign-in link.',
    signIn: 'Sign in',
    signingIn: 'Signing in',
    signOut: 'Sign out',
    as: (name: string, role: string) => `${name} (${role})`,
  },
  devices: {
    title: 'Devices',
    search: 'Search by name, serial number, UDID or asset tag',
    found: (count: number, isEstimate: boolean) =>
      `${isEstimate ? 'about ' : ''}${count.toLocaleString('en')} ${count === 1 ? 'device' : 'devices'}`,
    none: 'No device is enrolled yet. Create an enrollment link to enroll the first one.',
    noMatch: 'No device matches. Change or clear the search.',
    clear: 'Clear the search',
    health: 'Health',
    allHealth: 'All',
    states: { ok: 'OK', attention: 'Attention', stuck: 'Stuck', none: 'Not enrolled' },
    columns: {
      device_name: 'Name',
      serial_number: 'Serial number',
      health: 'Health',
      platform: 'Platform',
      os_version: 'OS version',
      model_name: 'Model',
      last_seen: 'Last contact',
    },
  },
};
