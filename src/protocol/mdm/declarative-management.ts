import { createHash } from 'node:crypto';
import { AppError } from '../../errors.js';

/** A request of a device for declarative management, by the Endpoint of its message. */
export type DeclarationRequest =
  | { kind: 'tokens' }
  | { kind: 'declaration-items' }
  | { kind: 'status' }
  | { kind: 'declaration'; type: string; identifier: string };

const TYPES = ['activation', 'asset', 'configuration', 'management'];

/**
 * Reads an Endpoint: `tokens`, `declaration-items`, `status`, or `declaration/<type>/<identifier>`.
 * undefined for any other.
 */
export function parseEndpoint(endpoint: string): DeclarationRequest | undefined {
  if (endpoint === 'tokens' || endpoint === 'declaration-items' || endpoint === 'status') {
    return { kind: endpoint };
  }
  const [what, type = '', ...rest] = endpoint.split('/');
  const identifier = rest.join('/');
  if (what !== 'declaration' || !TYPES.includes(type) || identifier === '') return undefined;
  return { kind: 'declaration', type, identifier };
}

/** Which version of a declaration a device should have. */
export interface DeclarationItem {
  Identifier: string;
  ServerToken: string;
}

/** Apple's declarative/protocol/declarationitemsresponse.yaml: all four are required. */
export interface DeclarationSet {
  Activations: DeclarationItem[];
  Assets: DeclarationItem[];
  Configurations: DeclarationItem[];
  Management: DeclarationItem[];
}

/** Equal for equal sets: a device fetches the items only when its own token differs. */
export function declarationsToken({
  Activations,
  Assets,
  Configurations,
  Management,
}: DeclarationSet): string {
  const parts = [Activations, Assets, Configurations, Management].map((items) =>
    items.map(({ Identifier, ServerToken }) => [Identifier, ServerToken]),
  );
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** The answer to `tokens`; `changedAt` is the last change of the set, in whole seconds. */
export function tokensResponse(declarations: DeclarationSet, changedAt: Date): Buffer {
  const Timestamp = changedAt.toISOString().replace(/\.\d+Z$/, 'Z');
  const SyncTokens = { DeclarationsToken: declarationsToken(declarations), Timestamp };
  return Buffer.from(JSON.stringify({ SyncTokens }));
}

/** The answer to `declaration-items`. */
export function declarationItemsResponse(declarations: DeclarationSet): Buffer {
  const DeclarationsToken = declarationsToken(declarations);
  return Buffer.from(JSON.stringify({ Declarations: declarations, DeclarationsToken }));
}

/** Ten times the report of a device with hundreds of declarations. */
const MAX_STATUS_BYTES = 2 * 1024 * 1024;

/** What a status report holds. */
export interface StatusReport {
  /** Names of the top level of StatusItems. */
  items: string[];
  errors: number;
  /** Everything, not just what has changed. */
  isFull: boolean;
}

/**
 * Reads the Data of a status report: one JSON object in UTF-8, as lenient about its keys as devices
 * differ. AppError invalid_message 400, payload_too_large 413 beyond 2 MiB.
 */
export function parseStatusReport(data: Buffer): StatusReport {
  if (data.length > MAX_STATUS_BYTES) {
    throw new AppError('payload_too_large', 413, 'the status report has more than 2 MiB');
  }
  const report = parseJson(data);
  if (!isObject(report)) throw invalid('it is no object');
  const { StatusItems, Errors, FullReport } = report;
  return {
    items: isObject(StatusItems) ? Object.keys(StatusItems).slice(0, 100) : [],
    errors: Array.isArray(Errors) ? Errors.length : 0,
    isFull: FullReport === true,
  };
}

function parseJson(data: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch (error) {
    throw invalid('it is no JSON', error);
  }
}

function invalid(reason: string, cause?: unknown): AppError {
  return new AppError('invalid_message', 400, `not a status report: ${reason}`, { cause });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
