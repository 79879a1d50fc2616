import type { DepListing } from '../../db/dep/dep-sync-page.js';

/** A device as it is stored, with the operations that Apple has. */
export interface ListedDevice extends DepListing {
  opType: 'added' | 'modified' | 'deleted' | null;
}

export interface DevicePage {
  devices: ListedDevice[];
  /** Number of devices on the page without a usable serial number. */
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

/** Apple's "Account Detail": the organization, and the server entry that the token belongs to. */
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
 * Apple's result by serial number: SUCCESS, NOT_ACCESSIBLE, FAILED, THROTTLED, or a code added since.
 * Serial numbers that Apple leaves out are missing.
 */
export type SerialResults = ReadonlyMap<string, string> & {
  /** When THROTTLED serial numbers may be retried. */
  readonly retryAt?: Date;
};

/** Most serial numbers in one call (Apple's limit for assignments). */
export const MAX_SERIALS = 1_000;

export interface ActivationLock {
  serialNumber: string;
  /** Hash of the bypass code, lower-case hexadecimal; undefined: Apple creates a code. */
  escrowKey?: string | undefined;
  lostMessage?: string | undefined;
}

/**
 * Apple's DEP service, called with the token of one account. Sessions and short retries are handled
 * inside; any other failure is a DepError.
 */
export interface DepApi {
  account(): Promise<AccountDetail>;
  /** One page of all devices. */
  fetchDevices(request: PageRequest): Promise<DevicePage>;
  /** One page of the changes since the cursor was issued. */
  syncDevices(request: PageRequest & { cursor: string }): Promise<DevicePage>;
  /** Returns the UUID of the new definition, in lower case with dashes. */
  defineProfile(definition: object): Promise<string>;
  /** At most MAX_SERIALS. */
  assignProfile(uuid: string, serialNumbers: readonly string[]): Promise<SerialResults>;
  /** Removes any profile of the devices; at most MAX_SERIALS. */
  removeProfiles(serialNumbers: readonly string[]): Promise<SerialResults>;
  /** Irreversible. At most MAX_SERIALS. */
  disown(serialNumbers: readonly string[]): Promise<SerialResults>;
  enableActivationLock(lock: ActivationLock): Promise<SerialResults>;
}

/** The account of a call, as read when the call began. */
export interface DepAccount {
  id: number;
  consumerKey: string;
}

/** Apple's DEP service for stored accounts. */
export interface DepAccounts {
  /**
   * Runs `work` with the account's current token and writes the outcome of its calls to the account's
   * `status`. Rethrows a DepError. AppError 404 unknown account, 409 `no_dep_account` without a token;
   * DepError `lab_off` for a lab token while the lab is off, and the reverse.
   */
  use<T>(
    accountId: number,
    work: (api: DepApi, account: DepAccount) => Promise<T>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<T>;
}
