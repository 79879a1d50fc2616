import { omitAbsent } from '../omit-absent.js';
import { type PlistDict, parsePlistDict } from '../plist/plist.js';
import { type EnrollmentIds, enrollmentIds } from './enrollment-ids.js';
import {
  booleanOf,
  bootstrapTokenOf,
  dataOf,
  descriptionOf,
  dictOf,
  dictsOf,
  identifierOf,
  invalidMessage,
  textOf,
  unlockTokenOf,
} from './message-fields.js';

export type { EnrollmentIds } from './enrollment-ids.js';

interface MessageBase {
  ids: EnrollmentIds;
  /** Everything the device sent, Apple's key names. */
  body: PlistDict;
  /** The bytes as received. */
  raw: Buffer;
}

interface CheckInBase extends MessageBase {
  topic?: string;
}

export interface AuthenticateMessage extends CheckInBase {
  kind: 'Authenticate';
  deviceName?: string;
  model?: string;
  modelName?: string;
  osVersion?: string;
  buildVersion?: string;
  productName?: string;
  serialNumber?: string;
  imei?: string;
  meid?: string;
}

export interface TokenUpdateMessage extends CheckInBase {
  kind: 'TokenUpdate';
  token: Buffer;
  pushMagic: string;
  unlockToken?: Buffer;
  awaitingConfiguration?: boolean;
  notOnConsole?: boolean;
}

export interface CheckOutMessage extends CheckInBase {
  kind: 'CheckOut';
}

export interface UserAuthenticateMessage extends CheckInBase {
  kind: 'UserAuthenticate';
  digestResponse?: string;
}

export interface SetBootstrapTokenMessage extends CheckInBase {
  kind: 'SetBootstrapToken';
  /** Absent: the device asks to remove the one held for it. */
  bootstrapToken?: Buffer;
  awaitingConfiguration?: boolean;
}

export interface GetBootstrapTokenMessage extends CheckInBase {
  kind: 'GetBootstrapToken';
  awaitingConfiguration?: boolean;
}

/** A device that is about to erase itself asks how it comes back. */
export interface ReturnToServiceMessage extends CheckInBase {
  kind: 'ReturnToService';
}

export interface GetTokenMessage extends CheckInBase {
  kind: 'GetToken';
  tokenServiceType?: string;
  tokenParameters?: PlistDict;
}

export interface DeclarativeManagementMessage extends CheckInBase {
  kind: 'DeclarativeManagement';
  endpoint?: string;
  data?: Buffer;
}

export type CheckInMessage =
  | AuthenticateMessage
  | TokenUpdateMessage
  | CheckOutMessage
  | UserAuthenticateMessage
  | SetBootstrapTokenMessage
  | GetBootstrapTokenMessage
  | GetTokenMessage
  | ReturnToServiceMessage
  | DeclarativeManagementMessage;

const STATUSES = ['Idle', 'Acknowledged', 'Error', 'CommandFormatError', 'NotNow'] as const;
export type ReportStatus = (typeof STATUSES)[number];

/** A device's request for the next command, with the result of the one before, or Idle. */
export interface CommandReport extends MessageBase {
  kind: 'report';
  status: ReportStatus;
  /** Present for every status but Idle. */
  commandUuid?: string;
  /** Apple's dictionaries: ErrorCode, ErrorDomain, LocalizedDescription, USEnglishDescription. */
  errorChain?: PlistDict[];
  /** Only some systems echo it. */
  requestType?: string;
}

export type MdmMessage = CheckInMessage | CommandReport;

/**
 * Reads the body of a device's request: a check-in when it has a MessageType, else a command
 * report. Lenient as devices differ: only the type or status, an id, and for TokenUpdate Token and
 * PushMagic are needed; empty text and data, and optional keys of the wrong type, count as absent.
 * A BootstrapToken, though, must be data, since sending none means to remove it. Throws AppError
 * invalid_plist or invalid_message, both 400, and payload_too_large 413 for secrets beyond 64 KiB.
 */
export function decodeMessage(raw: Buffer): MdmMessage {
  const body = parsePlistDict(raw);
  const type = textOf(body, 'MessageType');
  return type === undefined ? decodeReport(raw, body) : decodeCheckIn(type, raw, body);
}

/** What every check-in has; `topic` may be undefined until omitAbsent has been over it. */
type Common = MessageBase & { topic: string | undefined };

const CHECK_INS = new Map<string, (body: PlistDict, common: Common) => CheckInMessage>([
  ['Authenticate', authenticate],
  ['TokenUpdate', tokenUpdate],
  ['CheckOut', (_body, common) => omitAbsent<CheckOutMessage>({ kind: 'CheckOut', ...common })],
  ['UserAuthenticate', userAuthenticate],
  ['SetBootstrapToken', setBootstrapToken],
  ['GetBootstrapToken', getBootstrapToken],
  ['GetToken', getToken],
  ['DeclarativeManagement', declarativeManagement],
  ['ReturnToService', returnToService],
]);

function decodeReport(raw: Buffer, body: PlistDict): CommandReport {
  const sent = textOf(body, 'Status');
  const status = STATUSES.find((known) => known === sent);
  if (status === undefined) throw invalidMessage('neither a MessageType nor a known Status');
  const commandUuid = status === 'Idle' ? undefined : identifierOf(body, 'CommandUUID');
  if (status !== 'Idle' && commandUuid === undefined) {
    throw invalidMessage(`${status} without a CommandUUID`);
  }
  return omitAbsent<CommandReport>({
    kind: 'report',
    ids: enrollmentIds(body),
    body,
    raw,
    status,
    commandUuid,
    errorChain: dictsOf(body, 'ErrorChain'),
    requestType: textOf(body, 'RequestType'),
  });
}

function decodeCheckIn(type: string, raw: Buffer, body: PlistDict): CheckInMessage {
  const decode = CHECK_INS.get(type);
  if (decode === undefined) throw invalidMessage('its MessageType is unknown');
  return decode(body, { ids: enrollmentIds(body), body, raw, topic: descriptionOf(body, 'Topic') });
}

function authenticate(body: PlistDict, common: Common): AuthenticateMessage {
  return omitAbsent<AuthenticateMessage>({
    kind: 'Authenticate',
    ...common,
    deviceName: descriptionOf(body, 'DeviceName'),
    model: descriptionOf(body, 'Model'),
    modelName: descriptionOf(body, 'ModelName'),
    osVersion: descriptionOf(body, 'OSVersion'),
    buildVersion: descriptionOf(body, 'BuildVersion'),
    productName: descriptionOf(body, 'ProductName'),
    serialNumber: descriptionOf(body, 'SerialNumber'),
    imei: descriptionOf(body, 'IMEI'),
    meid: descriptionOf(body, 'MEID'),
  });
}

function tokenUpdate(body: PlistDict, common: Common): TokenUpdateMessage {
  const token = dataOf(body, 'Token');
  const pushMagic = textOf(body, 'PushMagic');
  if (token === undefined) throw invalidMessage('TokenUpdate without a Token');
  if (pushMagic === undefined) throw invalidMessage('TokenUpdate without a PushMagic');
  return omitAbsent<TokenUpdateMessage>({
    kind: 'TokenUpdate',
    ...common,
    token,
    pushMagic,
    unlockToken: unlockTokenOf(body),
    awaitingConfiguration: booleanOf(body, 'AwaitingConfiguration'),
    notOnConsole: booleanOf(body, 'NotOnConsole'),
  });
}

function userAuthenticate(body: PlistDict, common: Common): UserAuthenticateMessage {
  const digestResponse = textOf(body, 'DigestResponse');
  return omitAbsent<UserAuthenticateMessage>({
    kind: 'UserAuthenticate',
    ...common,
    digestResponse,
  });
}

function setBootstrapToken(body: PlistDict, common: Common): SetBootstrapTokenMessage {
  return omitAbsent<SetBootstrapTokenMessage>({
    kind: 'SetBootstrapToken',
    ...common,
    bootstrapToken: bootstrapTokenOf(body),
    awaitingConfiguration: booleanOf(body, 'AwaitingConfiguration'),
  });
}

function getBootstrapToken(body: PlistDict, common: Common): GetBootstrapTokenMessage {
  const awaitingConfiguration = booleanOf(body, 'AwaitingConfiguration');
  return omitAbsent<GetBootstrapTokenMessage>({
    kind: 'GetBootstrapToken',
    ...common,
    awaitingConfiguration,
  });
}

function getToken(body: PlistDict, common: Common): GetTokenMessage {
  return omitAbsent<GetTokenMessage>({
    kind: 'GetToken',
    ...common,
    tokenServiceType: textOf(body, 'TokenServiceType'),
    tokenParameters: dictOf(body, 'TokenParameters'),
  });
}

function declarativeManagement(body: PlistDict, common: Common): DeclarativeManagementMessage {
  return omitAbsent<DeclarativeManagementMessage>({
    kind: 'DeclarativeManagement',
    ...common,
    endpoint: textOf(body, 'Endpoint'),
    data: dataOf(body, 'Data'),
  });
}

function returnToService(_body: PlistDict, common: Common): ReturnToServiceMessage {
  return omitAbsent<ReturnToServiceMessage>({ kind: 'ReturnToService', ...common });
}
