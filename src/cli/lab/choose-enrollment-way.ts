import { readFile } from 'node:fs/promises';
import {
  type AwaitedDevice,
  canSimulate,
  describeAwaited,
} from '../../lab/enrollment/awaited-devices.js';
import type { EnrollmentWay } from '../../lab/enrollment/enrollment-way.js';
import { Activation } from '../../lab/pki/activation.js';
import { readLabAuthority } from '../../lab/pki/lab-authority.js';
import { HttpClient } from '../../lab/wire/http-client.js';
import { fetchLab, type LabDescription } from '../../lab/wire/lab-description.js';
import { UsageError } from '../options.js';
import { askHidden, PasswordPrompt } from '../password.js';

export const WAYS = ['profile', 'ota', 'ade', 'account'] as const;

/** The options that choose how devices enroll. */
export interface WayOptions {
  enroll: (typeof WAYS)[number];
  url: string;
  platform?: 'iOS' | 'macOS';
  /** Path of an enrollment profile to use instead of fetching one for each device. */
  profile?: string;
  /** Token of an enrollment link. */
  token?: string;
  account?: string;
  /** Path of a file with the password of the account. */
  passwordFile?: string;
}

export interface ChosenWay {
  way: EnrollmentWay;
  /** DEP devices that are assigned to the server and have not enrolled. */
  awaited: readonly AwaitedDevice[];
}

const RETRY_MS = 60_000;

/** Refuses options that would have no effect. */
function refuseStray({ enroll, profile, token, account, passwordFile }: WayOptions): void {
  const strays: [boolean, string][] = [
    [profile !== undefined && enroll !== 'profile', '--profile goes with --enroll profile'],
    [
      token !== undefined && enroll !== 'profile' && enroll !== 'ota',
      '--token goes with --enroll profile or ota',
    ],
    [token !== undefined && profile !== undefined, '--token does not go with --profile'],
    [account !== undefined && enroll !== 'account', '--account goes with --enroll account'],
    [passwordFile !== undefined && account === undefined, '--password-file goes with --account'],
    [account === undefined && enroll === 'account', '--enroll account needs --account'],
  ];
  const stray = strays.find(([isSo]) => isSo);
  if (stray !== undefined) throw new UsageError(stray[1]);
}

async function readPassword(account: string, file: string | undefined): Promise<string> {
  const option = { name: '--password-file', file };
  if (file !== undefined) {
    return await new PasswordPrompt(option, { stdin: process.stdin }).get(account);
  }
  if (process.stdin.isTTY) return await askHidden(`Password of ${account}: `);
  throw new UsageError('--account needs --password-file FILE (- reads standard input)');
}

interface KnownLab extends Pick<LabDescription, 'device_ca'> {
  portal: string | undefined;
  awaited: AwaitedDevice[];
}

/** Describes the lab of the server, the only server that trusts simulated devices. LabError: no lab. */
async function askLab({ enroll, url }: WayOptions, connection: Connection): Promise<KnownLab> {
  const http = new HttpClient({ retryMs: RETRY_MS, signal: connection.signal });
  if (connection.trustedCas !== undefined) http.trust([connection.trustedCas]);
  try {
    const { device_ca, dep, serials } = await fetchLab(http, url);
    const portal = dep?.portal;
    const waiting = enroll === 'ade' ? serials : [];
    const awaited = await describeAwaited(http, portal, waiting);
    return { device_ca, portal, awaited };
  } finally {
    http.close();
  }
}

interface Connection {
  /** PEM. */
  trustedCas?: string | undefined;
  signal: AbortSignal;
}

/** UsageError when the options contradict each other. */
export async function chooseWay(options: WayOptions, connection: Connection): Promise<ChosenWay> {
  refuseStray(options);
  const { enroll, url, profile, token, account = '' } = options;
  if (enroll === 'profile') {
    const file = profile === undefined ? undefined : await readFile(profile);
    return { way: { enroll, url, token, file }, awaited: [] };
  }
  const password = enroll === 'account' ? await readPassword(account, options.passwordFile) : '';
  const { device_ca, portal, awaited } = await askLab(options, connection);
  const activation = new Activation(readLabAuthority(device_ca.certificate + device_ca.key));
  const certified = { url, token, activation };
  if (enroll === 'account') {
    return { way: { enroll, ...certified, credentials: { account, password } }, awaited: [] };
  }
  if (enroll === 'ota') return { way: { enroll, ...certified }, awaited: [] };
  return {
    way: { enroll, ...certified, portal },
    awaited: awaited.filter((device) => canSimulate(device, options.platform)),
  };
}
