import { AppError } from '../errors.js';
import {
  type DeclarationSet,
  declarationItemsResponse,
  parseEndpoint,
  parseStatusReport,
  type StatusReport,
  tokensResponse,
} from '../protocol/mdm/declarative-management.js';
import type { DeclarativeManagementMessage } from '../protocol/mdm/mdm-messages.js';
import { type Answer, EMPTY } from './answer.js';
import { MAX_BYTES_AT_ONCE } from './message-reader.js';
import type { MdmServices } from './services.js';

const NONE: DeclarationSet = { Activations: [], Assets: [], Configurations: [], Management: [] };
const NONE_SINCE = new Date(0);
const TOKENS: Answer = { kind: 'json', body: tokensResponse(NONE, NONE_SINCE) };
const ITEMS: Answer = { kind: 'json', body: declarationItemsResponse(NONE) };

/**
 * Answers DeclarativeManagement of a device or of one of its users. The set of declarations is empty,
 * and its tokens are constant, so that devices do not look for changes.
 */
export async function answerDeclarations(
  { endpoint, data = Buffer.alloc(0) }: DeclarativeManagementMessage,
  deviceId: number,
  { logger, readStatusInThread }: Pick<MdmServices, 'logger' | 'readStatusInThread'>,
): Promise<Answer> {
  const request = endpoint === undefined ? undefined : parseEndpoint(endpoint);
  switch (request?.kind) {
    case 'tokens':
      return TOKENS;
    case 'declaration-items':
      return ITEMS;
    case 'status':
      logger.debug({ deviceId, ...(await readStatus(data, readStatusInThread)) }, 'status report');
      return EMPTY;
    case 'declaration':
      throw new AppError('not_found', 404, `no declaration ${request.identifier}`);
    default:
      throw new AppError('invalid_message', 400, 'the Endpoint is none of Apple’s');
  }
}

function readStatus(
  data: Buffer,
  readStatusInThread: MdmServices['readStatusInThread'],
): StatusReport | Promise<StatusReport> {
  return data.length <= MAX_BYTES_AT_ONCE ? parseStatusReport(data) : readStatusInThread(data);
}
