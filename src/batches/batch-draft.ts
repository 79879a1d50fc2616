import type { CommandAdministration } from '../commands/command-administration.js';
import { checkJsonParameters } from '../commands/payload.js';
import type { JsonObject } from '../commands/present-command.js';
import { involvesSecret } from '../commands/secrets/command-secrets.js';
import type { ErrorDetail } from '../errors.js';
import type { JsonValue } from '../protocol/apple/command-schema.js';
import { isSecretName } from '../protocol/apple/plist-json.js';
import type { SchemaFault } from '../protocol/apple/schema-check.js';
import { pointerTo } from '../protocol/apple/schema-types.js';
import { isPlistDict, type PlistDict, type PlistValue } from '../protocol/plist/plist.js';
import {
  DEVICE_VARIABLES,
  isKnownVariable,
  renderText,
  secretOf,
  variablesIn,
} from '../protocol/profiles/profile-variables.js';

/**
 * How the command of one device is made. `uniform`: equal for devices of equal facts. `rendered`: with values of
 * the device. `own`: with secrets of the device, one device at a time. `profile`: with the version of a stored profile
 * that the device is to have.
 */
export type BatchKind = 'uniform' | 'rendered' | 'own' | 'profile';

/** What a batch queues for each of its devices. */
export interface BatchCommand {
  requestType: string;
  /** As they were given, with variables. */
  parameters: JsonObject;
  /** The same as plist values; incomplete for `own`. */
  template: PlistDict;
  /** Names of the variables, without their dollar. */
  variables: string[];
  kind: BatchKind;
}

const PARAMETERS = '/data/attributes/parameters';
const CLEAR_PASSCODE = 'ClearPasscode';

/** The command of a batch. It is to be used only without faults. */
export function readBatchCommand(
  commands: Pick<CommandAdministration, 'faults'>,
  { requestType, parameters }: { requestType: string; parameters: JsonObject },
): { command: BatchCommand; faults: ErrorDetail[] } {
  const checked = checkJsonParameters(requestType, parameters, { mayHaveVariables: true });
  const { value: template, faults: ofSchema } = checked;
  const isOwn = involvesSecret(requestType) || requestType === CLEAR_PASSCODE;
  const ofSecrets = involvesSecret(requestType) ? commands.faults({ requestType, parameters }) : [];
  const kept = isOwn ? ofSchema.filter((fault) => !isCompletedLater(fault)) : ofSchema;
  const ofToken = tokenFaults(requestType, parameters);
  const known = new Set([...ofSecrets, ...ofToken].map(({ source }) => source?.pointer));
  const variables = new Set<string>();
  const ofVariables = variableFaults(parameters, {
    variables,
    pointer: PARAMETERS,
    isSecret: false,
  });
  const kind = kindOf({ isOwn, hasVariables: variables.size > 0 });
  return {
    command: { requestType, parameters, template, variables: [...variables], kind },
    faults: [
      ...ofSecrets,
      ...kept.filter(({ source }) => !known.has(source?.pointer)),
      ...ofToken,
      ...ofVariables,
    ],
  };
}

/** The command as a batch is ordered with it. */
export interface OrderedCommand {
  requestType: string;
  parameters: JsonObject;
  /** Stored profile that InstallProfile or RemoveProfile names instead of parameters. */
  profileId: number | null;
}

/** Whether the batch names a stored profile that has been deleted since: it has no parameters either. */
export function isOfDeletedProfile({
  requestType,
  parameters,
  profileId,
}: OrderedCommand): boolean {
  const isOfProfile = requestType === 'InstallProfile' || requestType === 'RemoveProfile';
  return profileId === null && isOfProfile && Object.keys(parameters).length === 0;
}

/** The command that installs a stored profile, or removes it. */
export function profileCommand(requestType: string): BatchCommand {
  return { requestType, parameters: {}, template: {}, variables: [], kind: 'profile' };
}

function kindOf({ isOwn, hasVariables }: { isOwn: boolean; hasVariables: boolean }): BatchKind {
  if (isOwn) return 'own';
  return hasVariables ? 'rendered' : 'uniform';
}

/** A secret that Muster makes for each device, or has of it. */
function isCompletedLater(fault: ErrorDetail): boolean {
  const name = fault.source?.pointer?.split('/').at(-1) ?? '';
  return (fault as SchemaFault).rule === 'required' && isSecretName(name);
}

/** A token unlocks one device: the batch sends each device its own. */
function tokenFaults(requestType: string, { UnlockToken: token }: JsonObject): ErrorDetail[] {
  if (requestType !== CLEAR_PASSCODE || token === undefined) return [];
  const source = { pointer: `${PARAMETERS}/UnlockToken` };
  const detail = 'leave out UnlockToken: each device gets the one that it has escrowed';
  return [{ detail, source }];
}

interface Found {
  /** Filled. */
  variables: Set<string>;
  pointer: string;
  /** Below a key whose values are secret. */
  isSecret: boolean;
}

function variableFaults(value: JsonValue, found: Found): ErrorDetail[] {
  if (typeof value === 'string') return textFaults(value, found);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    variableFaults(member, {
      ...found,
      pointer: pointerTo(found.pointer, name),
      isSecret: found.isSecret || (!Array.isArray(value) && isSecretName(name)),
    }),
  );
}

/** In a secret a dollar is a dollar. */
function textFaults(text: string, { variables, pointer, isSecret }: Found): ErrorDetail[] {
  if (isSecret) return [];
  const source = { pointer };
  return variablesIn(text).flatMap((name) => {
    variables.add(name);
    if (secretOf(name) !== undefined) {
      const detail = `$${name} is for profiles only: commands are kept with their parameters`;
      return [{ detail, source }];
    }
    if (isKnownVariable(name)) return [];
    const detail =
      `$${name} is no variable. There are ${DEVICE_VARIABLES.map((known) => `$${known}`).join(', ')} ` +
      'and $ATTRIBUTE_name; write $$ for a dollar';
    return [{ detail, source }];
  });
}

interface Spread {
  after: Date | null;
  expiresAt: Date | null;
  /** Seconds. */
  spread: number;
}

/** A spread that lasts longer than its commands is a fault: some would never be sent. */
export function spreadFaults({ after, expiresAt, spread }: Spread): ErrorDetail[] {
  if (expiresAt === null || spread <= maxSpread({ after, expiresAt })) return [];
  const detail =
    'spread ends after expires_at: some commands would never be sent. Spread over less time, or let them ' +
    'expire later';
  return [{ detail, source: { pointer: '/data/attributes/spread' } }];
}

/** Seconds from `after`, or now, until the commands expire. */
export function maxSpread({ after, expiresAt }: { after: Date | null; expiresAt: Date }): number {
  const start = Math.max(Date.now(), after?.getTime() ?? 0);
  return Math.max(0, Math.floor((expiresAt.getTime() - start) / 1000));
}

/** The parameters with the values of one device. Data, keys and secrets stay as they are. */
export function renderParameters<Parameters extends PlistDict | JsonObject>(
  parameters: Parameters,
  values: ReadonlyMap<string, string>,
): Parameters {
  const members = Object.entries(parameters).map(([name, member]) => [
    name,
    isSecretName(name) ? member : rendered(member as PlistValue, values),
  ]);
  return Object.fromEntries(members) as Parameters;
}

function rendered(value: PlistValue, values: ReadonlyMap<string, string>): PlistValue {
  if (typeof value === 'string') return renderText(value, values);
  if (Array.isArray(value)) return value.map((element) => rendered(element, values));
  return isPlistDict(value) ? renderParameters(value, values) : value;
}

/** What the command of a profile does. */
export function verbOf({ requestType }: Pick<BatchCommand, 'requestType'>): 'install' | 'remove' {
  return requestType === 'InstallProfile' ? 'install' : 'remove';
}
