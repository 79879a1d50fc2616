import type { InstalledProfile } from './profiles.js';
import type { Random } from './random.js';

/** A user of a Mac or a Shared iPad, with a channel to the server apart from the device's. */
export interface SimulatedUser {
  /** GUID; the same for all users of Shared iPads, which differ by their short names. */
  readonly id: string;
  readonly shortName: string;
  readonly longName: string;
  readonly pushToken: Buffer;
  readonly pushMagic: string;
  /** Waits for UserConfigured, as users of Shared iPads can. */
  isAwaitingConfiguration: boolean;
  /** Only a user who is logged in asks for commands. */
  isLoggedIn: boolean;
  isDeleted: boolean;
  profiles: InstalledProfile[];
}

const SHARED_USER_ID = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';

function accountOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z]/g, '')
    .toLowerCase();
}

export interface SimulatedUserOptions {
  name: string;
  isShared: boolean;
  random: Random;
}

export function createSimulatedUser(options: SimulatedUserOptions): SimulatedUser {
  const { name, isShared, random } = options;
  const account = accountOf(name);
  const own = random.uuid();
  return {
    id: isShared ? SHARED_USER_ID : own,
    shortName: isShared ? `${account}@example.com` : account,
    longName: name,
    pushMagic: random.uuid(),
    pushToken: random.bytes(32),
    isAwaitingConfiguration: false,
    isLoggedIn: true,
    isDeleted: false,
    profiles: [],
  };
}
