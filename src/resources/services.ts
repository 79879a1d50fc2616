import type { Actor, RequestContext, Transaction } from '../jsonapi/context.js';
import type { CERTIFICATE_PURPOSES } from './certificates/certificates.js';
import type { EnrollmentLinkService } from './enrollment/enrollment-link-service.js';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** A row as the database gives it: column name to value. */
export type Row = Record<string, unknown> & { id: number };

export interface EnqueueInput {
  deviceId: number;
  /** One of the device's users, whose command it is. */
  userId?: number;
  requestType: string;
  /** Apple's key names; data as base64 string, dates as ISO string. */
  parameters: JsonObject;
  after?: Date | null;
  expiresAt?: Date | null;
  priority?: number;
  ttl?: number;
  context: RequestContext;
}

export interface CommandChanges {
  after?: Date | null;
  expires_at?: Date | null;
  priority?: number;
  /** Cancelled is the one status a client can set. */
  status?: 'Cancelled';
}

export interface CommandSelection {
  commandIds: number[];
  context: RequestContext;
}

/**
 * The command queue as the resources see it. Every method works inside the caller's transaction;
 * a push follows its commit. Rows returned are whole rows of `commands`.
 */
export interface CommandAdministration {
  /**
   * Checks and queues one command. 404 unknown device (pointer /data/relationships/device),
   * 409 device_unenrolled, user_unenrolled, 422 naming each fault below /data/attributes, or
   * /data/relationships/user for one of another device.
   */
  enqueue(trx: Transaction, input: EnqueueInput): Promise<Row>;
  /** 404 unknown id; 409 command_final when it already has its final answer. */
  update(
    trx: Transaction,
    input: { id: number; changes: CommandChanges; context: RequestContext },
  ): Promise<Row>;
  /** Cancels and removes one command. 404 unknown id; 409 command_already_sent. */
  remove(trx: Transaction, input: { id: number; context: RequestContext }): Promise<void>;
  /**
   * Moves commands never sent to `deviceId`, each checked anew for it; those already there are
   * left alone. 404 naming an unknown id; 409 command_already_sent, command_final,
   * device_unenrolled, or conflict for one that holds a secret of its device; 422
   * unsupported_on_platform. The pointers are those of the linkage.
   */
  assign(trx: Transaction, input: CommandSelection & { deviceId: number }): Promise<void>;
  /** Cancels commands never sent; they stay as history. 409 as assign, naming each. */
  cancel(trx: Transaction, input: CommandSelection & { deviceId: number }): Promise<void>;
  /** Commands that erase a device or that set or reveal secrets are for admins only. */
  requiresAdmin(requestType: string, parameters: JsonObject): boolean;
  /**
   * JSON view of the stored plist as `actor` may read it: secrets masked, for viewers managed app
   * configurations and credentials in URLs too. `payload` and `result` are the row's bytes.
   */
  presentParameters(
    row: { uuid: string; request_type: string; payload: Buffer },
    actor: Actor,
  ): JsonObject;
  presentResult(row: { uuid: string; result: Buffer | null }, actor: Actor): JsonObject | null;
  /** The same of a large result as JSON text that another thread has written; else undefined. */
  presentInParallel(
    row: { uuid: string; result: Buffer | null },
    actor: Actor,
  ): Promise<string | undefined>;
  presentErrors(errors: JsonValue, actor: Actor): JsonValue;
}

export interface SettingsService {
  /**
   * Queues a Settings command that renames an enrolled device and returns the ids of the queued
   * commands. 422 unsupported_on_platform with the pointer of the attribute.
   */
  rename(
    trx: Transaction,
    input: {
      device: Row;
      changes: { device_name?: string | null; hostname?: string | null };
      context: RequestContext;
    },
  ): Promise<number[]>;
}

export interface DeviceService {
  /**
   * The devices that have one of these identifiers, by the column's name. Nobody else who asks for
   * the same is answered before the transaction ends.
   */
  findOwners(
    trx: Transaction,
    identifiers: [name: string, value: string][],
  ): Promise<{ id: number; name: string }[]>;
  /** Removes the device and leaves the tombstones of its identities. 404 unknown id. */
  remove(trx: Transaction, input: { id: number; context: RequestContext }): Promise<void>;
}

export interface SecretService {
  /** Encrypts a secret for storage. `identity` names its place (`table/id/name`) and no other. */
  seal(secret: string, identity: string): Buffer;
}

export interface PasswordService {
  /** What is stored of a password. */
  hash(password: string): Promise<string>;
}

/** With a JSON pointer to the cause. */
export interface ProfileWarning {
  pointer: string;
  detail: string;
}

export interface ProfileUses {
  /** How many have it. */
  devices: number;
  /** Ids of the accounts that give it to devices that have none. */
  defaultOf: number[];
}

export interface DepResourceService {
  /** Where a device of Apple's enrollment program asks this server for its profile. */
  enrollmentUrl: string;
  /** What Apple or devices would find fault with; it is stored all the same. By its columns. */
  profileWarnings(profile: Row): ProfileWarning[];
  /** Who would miss the profile. One statement. */
  profileUses(trx: Transaction, profileId: number): Promise<ProfileUses>;
  /** What an account that goes away lists is none of the program's any more. Returns how many. */
  releaseDevices(trx: Transaction, accountId: number): Promise<number>;
  /** AppError 409 `lab_only`: one of the lab's while it is off, or one of Apple's while it is on. */
  requireSameEnvironment(consumerKey: string): void;
  // What Apple is to be told or asked after the commit of the caller's transaction.
  /** The account has another token, which goes into its history: whose it is; a sync follows. */
  tokenChanged(trx: Transaction, change: { accountId: number; by: string }): Promise<void>;
  /** What the profile says now. */
  defineProfile(trx: Transaction, profileId: number): Promise<void>;
  /**
   * Gives devices the profile, and has Apple told. Returns what keeps them from getting it now. 409
   * no_dep_account, other_dep_account and conflict (Apple no longer lists it) naming each device,
   * with the pointer `at`.
   */
  assignProfile(
    trx: Transaction,
    wish: { profileId: number; deviceIds: number[]; at: string },
  ): Promise<ProfileWarning[]>;
  /** Takes it from those that have it. */
  unassignProfile(
    trx: Transaction,
    wish: { profileId: number; deviceIds: number[] },
  ): Promise<void>;
  /**
   * The devices of the account; `isFull`: all of them, not only what has changed. AppError 404 for an
   * account that is not there, 409 `no_dep_account` for one without a token.
   */
  syncAccount(trx: Transaction, accountId: number, options: { isFull: boolean }): Promise<void>;
  /** Which devices have which profile. */
  assignProfiles(trx: Transaction, accountId: number): Promise<void>;
  /** Whether all is at Apple as it is here; what is not is repaired. */
  reconcileAccount(trx: Transaction, accountId: number): Promise<void>;
}

export interface ScepService {
  /** This server's own SCEP, as devices reach it. */
  ownUrl: string;
}

export type CertificatePurpose = (typeof CERTIFICATE_PURPOSES)[number];

export interface CertificateInput {
  /** One or several certificates in PEM, also as PKCS #7, or DER of one of both as base64. */
  pem_certificate?: string | null;
  pem_private_key?: string | null;
  /** Base64. */
  pkcs12?: string | null;
  password?: string | null;
  purpose: CertificatePurpose;
  /** A stored key that has to be its own. */
  privateKeyId?: number | null;
  /** A stored request that it has to be the answer to. */
  signingRequestId?: number | null;
  /** Of push certificates; where it is left out, that of the request or of the former one. */
  apple_account?: string | null;
  /** Takes what is not valid now, and a push topic that no enrolled device listens to. */
  isForced?: boolean;
}

/** What is absent stays. */
export interface CertificateChange {
  id: number;
  purpose?: CertificatePurpose;
  privateKeyId?: number | null;
  /** Its own key: null changes nothing. */
  pem_private_key?: string | null;
  password?: string | null;
  apple_account?: string | null;
  isForced?: boolean;
}

/** What a certificate says, by the names of the attributes; undefined where it can't be read. */
export interface CertificateView {
  subject_alt_names: string[];
  key_usage: string[] | null;
  extended_key_usage: string[] | null;
  key_type: 'RSA' | 'EC' | null;
  key_size: number | null;
  signature_algorithm: string;
}

/** Certificates, with all that has to hold of them. Works inside the caller's transaction. */
export interface CertificateService {
  /**
   * The new id, or that of one that lacked its key. 422 naming each fault; 409 already_exists,
   * push_topic_mismatch.
   */
  add(trx: Transaction, input: CertificateInput): Promise<number>;
  /** 404 unknown id; 422 when it does not fit; 409 in_use, push_topic_mismatch. */
  change(trx: Transaction, change: CertificateChange): Promise<void>;
  /** 404 unknown id; 409 in_use. */
  remove(trx: Transaction, id: number): Promise<void>;
  /** What whoever has just added or changed it should know. */
  warnings(trx: Transaction, id: number): Promise<{ code: string; detail: string }[]>;
  /** PEM of the stored bytes. */
  present(der: Buffer): string;
  view(der: Buffer): CertificateView | undefined;
  /** Of the stored chain, the issuer first. */
  viewChain(
    chain: Buffer | null,
  ): { subject: string; not_after: Date; fingerprint_sha256: string }[];
}

export interface SigningRequestInput {
  purpose: CertificatePurpose;
  subject?: string;
  /** The parts of a subject, in place of it. */
  x509_cn?: string | null;
  x509_ou?: string | null;
  x509_o?: string | null;
  x509_l?: string | null;
  x509_st?: string | null;
  x509_c?: string | null;
  email?: string | null;
  apple_account?: string | null;
  pem_request?: string | null;
  key_type?: 'RSA' | 'EC' | null;
  key_size?: number | null;
  subject_alt_names?: string[] | null;
  /** A stored key in place of a new one. */
  privateKeyId?: number | null;
}

export interface SigningRequestChange {
  id: number;
  purpose?: CertificatePurpose;
}

/** What a request says, by the names of the attributes; undefined where it can't be read. */
export type SigningRequestView = Pick<
  CertificateView,
  'subject_alt_names' | 'key_type' | 'key_size'
>;

export interface SigningRequestService {
  /** The new id. 422 naming each fault. */
  add(trx: Transaction, input: SigningRequestInput): Promise<number>;
  /** What is absent stays. 404 unknown id; 422 when it does not fit. */
  change(trx: Transaction, change: SigningRequestChange): Promise<void>;
  /** PEM of the stored bytes. */
  present(der: Buffer): string;
  view(der: Buffer): SigningRequestView | undefined;
}

/** Jobs of the queue. Works inside the caller's transaction. */
export interface JobService {
  /** Makes it due now, with all its attempts before it. 404 unknown id; 409 job_running. */
  retry(trx: Transaction, id: number): Promise<void>;
  /** 404 unknown id; 409 job_running. */
  remove(trx: Transaction, id: number): Promise<void>;
}

/** What the resources need beyond plain rows. Implemented by the command queue and its friends. */
export interface ResourceServices {
  commands: CommandAdministration;
  settings: SettingsService;
  devices: DeviceService;
  secrets: SecretService;
  passwords: PasswordService;
  depServices: DepResourceService;
  enrollmentLinks: EnrollmentLinkService;
  scep: ScepService;
  certificates: CertificateService;
  signingRequests: SigningRequestService;
  jobs: JobService;
}
