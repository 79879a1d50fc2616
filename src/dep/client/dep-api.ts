/** A device as Apple's service lists it; every member but the serial number may be missing. */
export interface ListedDevice {
  serialNumber: string;
  model: string | null;
  description: string | null;
  color: string | null;
  assetTag: string | null;
  os: string | null;
  deviceFamily: string | null;
  deviceAssignedBy: string | null;
  deviceAssignedDate: Date | null;
  /** In lower case with dashes; null where it has none (`profile_status` empty or removed). */
  profileUuid: string | null;
  /** empty, assigned, pushed or removed. */
  profileStatus: string | null;
  profileAssignTime: Date | null;
  profilePushTime: Date | null;
  /** added, modified or deleted; null on the pages of a full fetch, and where it is another word. */
  opType: 'added' | 'modified' | 'deleted' | null;
  opDate: Date | null;
}

export interface DevicePage {
  devices: ListedDevice[];
  /** How many others were on it whose serial numbers are of no use. */
  skipped: number;
  cursor: string;
  moreToFollow: boolean;
  fetchedUntil: Date | null;
}

export interface PageRequest {
  /** null: from the start. */
  cursor: string | null;
  /** 1 to 1000. */
  limit: number;
}

/** What Apple tells of the account and the server that a token is of. */
export interface AccountDetail {
  serverName: string | null;
  serverUuid: string | null;
  adminId: string | null;
  facilitatorId: string | null;
  orgName: string | null;
  orgEmail: string | null;
  orgPhone: string | null;
  orgAddress: string | null;
  orgId: string | null;
  orgIdHash: string | null;
  orgType: 'edu' | 'org' | null;
  orgVersion: 'v1' | 'v2' | null;
}

/**
 * What came of each serial number: SUCCESS, NOT_ACCESSIBLE, FAILED, THROTTLED, or another word of
 * Apple's. One that Apple says nothing of is missing.
 */
export type SerialResults = ReadonlyMap<string, string> & {
  /** When those that were THROTTLED may be tried again. */
  readonly retryAt?: Date;
};

/** The most serial numbers of one call (Apple's limit for assignments). */
export const MOST_SERIALS = 1_000;

export interface ActivationLock {
  serialNumber: string;
  /** Hash of the bypass code, lower-case hexadecimal; undefined: Apple makes a code of its own. */
  escrowKey?: string;
  lostMessage?: string;
}

/**
 * Apple's service of the device enrollment program, with the token of one account. Sessions, their
 * renewal and short waits are its own business; everything else that goes wrong is a ProgramError.
 */
export interface DepApi {
  account(): Promise<AccountDetail>;
  /** One page of all devices. */
  fetchDevices(request: PageRequest): Promise<DevicePage>;
  /** One page of what has changed since the cursor was given out. */
  syncDevices(request: PageRequest & { cursor: string }): Promise<DevicePage>;
  /** Returns the UUID of the new definition, in lower case with dashes. */
  defineProfile(definition: object): Promise<string>;
  /** At most MOST_SERIALS. */
  assignProfile(uuid: string, serialNumbers: readonly string[]): Promise<SerialResults>;
  /** Takes whatever profile they have; at most MOST_SERIALS. */
  removeProfiles(serialNumbers: readonly string[]): Promise<SerialResults>;
  /** For good: Apple lets nobody take it back. At most MOST_SERIALS. */
  disown(serialNumbers: readonly string[]): Promise<SerialResults>;
  enableActivationLock(lock: ActivationLock): Promise<SerialResults>;
}

/** An account, by its row, as a call begins. */
export interface DepAccount {
  id: number;
  consumerKey: string;
}

/** Apple's service for the accounts stored here. */
export interface DepAccounts {
  /**
   * Runs `work` with the present token of the account. What Apple refuses or grants is written to the
   * account as its `status`; a ProgramError is passed on. AppError 404 unknown account; 409
   * `no_dep_account` for one without a token; ProgramError `lab_off` for a token of the lab's where
   * the lab is off.
   */
  use<T>(
    accountId: number,
    work: (api: DepApi, account: DepAccount) => Promise<T>,
    options?: { signal?: AbortSignal },
  ): Promise<T>;
}
