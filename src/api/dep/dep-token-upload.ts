import type { RequestHandler, Response } from 'express';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { DepTokens, StoredToken } from '../../dep/tokens/dep-tokens.js';
import { writeAudit } from '../../events/audit.js';
import type { BodyReader } from '../../http/bodies/body-reader.js';
import { fileBody, uploadedFile } from '../../http/bodies/uploads.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { Document, ResourceObject } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { Answer, ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import {
  type ApiOperation,
  fileBodies,
  fileForm,
  itemSchema,
  jsonApiContent,
} from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';
import { booleanParameter, refuseOthers } from '../request-parts.js';

export interface TokenUploadDeps {
  api: ApiContext;
  uploads: BodyReader;
  depTokenService: Pick<DepTokens, 'open'>;
}

const MAX_BYTES = 1024 * 1024;
const TYPES = [
  'application/pkcs7-mime',
  'application/x-pkcs7-mime',
  'application/octet-stream',
  'text/plain',
];
const TYPE = 'dep_accounts';

const ACTIONS: Record<StoredToken['outcome'], string> = {
  created: `${TYPE}.token_uploaded`,
  renewed: `${TYPE}.token_renewed`,
  replaced: `${TYPE}.token_replaced`,
  unchanged: `${TYPE}.token_renewed`,
};

/** A mail header, DER, PEM or base64 of DER: what no form begins with. */
function looksLikeTokenFile(body: Buffer): boolean {
  if (body[0] === 0x30) return true;
  const start = body
    .subarray(0, 300)
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trimStart();
  return /^(?:[\w-]+[ \t]*:[ \t]|-----BEGIN |M[A-Za-z0-9+/]{40})/.test(start);
}

/** Stores a server token of Apple's portal: 201 with a new account, 200 with the one it renews. */
export function tokenUploadOperation(deps: TokenUploadDeps): ApiOperation {
  const content = [jsonApiContent(itemSchema(TYPE))];
  const options = {
    field: 'file',
    maxBytes: MAX_BYTES,
    bodies: deps.uploads,
    types: TYPES,
    isMislabelled: looksLikeTokenFile,
  };
  return {
    operationId: 'uploadDepToken',
    summary: "Upload a server token of Apple's portal",
    description:
      'The file as downloaded (S/MIME; also bare DER, PEM or base64), as the field `file` of a ' +
      'form or as the body; at most 1 MiB. It is decrypted with the stored key that fits. The same ' +
      '`consumer_key` renews its account, another one creates an account; where the certificate ' +
      'was downloaded for an account, that account gets the token, with `force` also the token of ' +
      'another server at Apple. A job then asks Apple whose token it is, and for its devices: the ' +
      '`status` of the account shows it. `meta.warnings` says what is unusual. Errors ' +
      'name the step that failed: `invalid_smime`, `no_matching_key`, `invalid_token`, ' +
      '`token_expired`, `token_mismatch`. Audited, refusals too.',
    tag: TYPE,
    role: 'admin',
    parameters: [
      {
        name: 'force',
        in: 'query',
        description: 'Moves the account to another server at Apple.',
        schema: { type: 'boolean', default: false },
      },
    ],
    requestBody: { required: true, content: [fileForm('file'), ...fileBodies(TYPES)] },
    answers: [
      { status: 200, description: 'The account, whose token is renewed.', content },
      { status: 201, description: 'The new account.', content },
    ],
    errors: [400, 409, 413, 415, 422],
    handlers: [checkQuery, fileBody(options), storeToken(deps)],
    onError: auditRefusals(deps.api, {
      action: ACTIONS.created,
      targetType: TYPE,
      codes: [
        'invalid_smime',
        'no_matching_key',
        'invalid_token',
        'token_expired',
        'token_mismatch',
        'lab_only',
      ],
    }),
  };
}

const checkQuery: RequestHandler = (req, _res, next) => {
  refuseOthers(req, ['force']);
  booleanParameter(req, 'force');
  next();
};

function storeToken(deps: TokenUploadDeps): RequestHandler {
  const { api, depTokenService } = deps;
  return async (req, res) => {
    const file = uploadedFile(req);
    const context = contextOf(res);
    const isForced = booleanParameter(req, 'force');
    const token = await depTokenService.open(file);
    const work = async (trx: Transaction): Promise<Answer> => {
      const stored = await token.store(trx, { isForced, by: context.actor.name });
      await auditToken(trx, res, stored);
      return answerWith(deps, trx, { stored, res });
    };
    const idempotency = readIdempotency(req, file);
    sendAnswer(req, res, await performWrite(api.store, { context, idempotency, work }));
  };
}

function auditToken(trx: Transaction, res: Response, stored: StoredToken): Promise<void> {
  return writeAudit(trx, {
    context: contextOf(res),
    action: ACTIONS[stored.outcome],
    targetType: TYPE,
    targetId: stored.accountId,
    outcome: 'success',
    ...(stored.outcome === 'unchanged'
      ? { details: { unchanged: true } }
      : { changes: stored.changes }),
  });
}

async function answerWith(
  { api }: TokenUploadDeps,
  trx: Transaction,
  { stored, res }: { stored: StoredToken; res: Response },
): Promise<Answer> {
  const { accountId, outcome, warnings } = stored;
  const context = contextOf(res);
  const document = await resourcesDocument(api, TYPE, { ids: accountId, trx, context });
  const answered: Document = { ...document, meta: { ...document.meta, warnings } };
  if (outcome !== 'created') return { status: 200, document: answered };
  const location = (document.data as ResourceObject).links.self ?? '';
  return { status: 201, document: answered, location };
}
