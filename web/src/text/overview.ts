const YEAR = 365;

function expiresIn(days: number): string {
  if (days >= 2 * YEAR) return `${Math.floor(days / YEAR)} years left`;
  return days === 1 ? '1 day left' : `${days} days left`;
}

export const overviewText = {
  setUp: 'Go to the set-up',
  setUpMissing: 'Without a push certificate no device is woken for its commands',
  setUpNoDevices: 'Set the server up, then enroll the first device',
  health: 'Health',
  states: { ok: 'OK', attention: 'Needs attention', stuck: 'Stuck' },
  findings: 'What is wrong',
  noFindings: 'No device has a fault.',
  credentials: 'Certificates and tokens',
  expiresIn,
  warnings: 'Warnings',
  expired: 'Expired',
  platform: 'Platforms',
  os_version: 'OS versions',
  model_name: 'Models',
  unknown: 'Not reported',
  other: 'Others',
  batches: 'Running batches',
  noBatches: 'No batch is running.',
  devices: (count: number) => (count === 1 ? '1 device' : `${count.toLocaleString('en')} devices`),
  noDevices: 'No device has enrolled yet.',
  enroll:
    'Open the enrollment page of this server (/enroll) on a device, or add an account of Automated Device Enrollment. With LAB=on, `npm run simulate` enrolls simulated devices.',
};
