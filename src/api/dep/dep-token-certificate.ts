import type { RequestHandler, Response } from 'express';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { DepTokens } from '../../dep/tokens/dep-tokens.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { Answer, ApiContext } from '../../jsonapi/handler.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import type { ApiOperation, ApiRoute } from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';
import { integerParameter, refuseOthers } from '../request-parts.js';

export interface TokenCertificateDeps {
  api: ApiContext;
  depTokenService: Pick<DepTokens, 'makeCertificate'>;
}

const TYPE = 'application/x-x509-ca-cert';
const FILE = 'muster-dep.pem';
const AUDITED = { action: 'dep_accounts.certificate_downloaded', targetType: 'certificates' };

/** The contract's GET, and a POST for those who keep GET free of consequences. */
export function tokenCertificateOperations(deps: TokenCertificateDeps): ApiRoute['methods'] {
  const schema = { type: 'string', contentMediaType: TYPE };
  const description = 'The certificate as PEM.';
  const operation: Omit<ApiOperation, 'operationId'> = {
    summary: "Download a certificate for Apple's portal",
    description:
      'Makes a key pair and a self-signed certificate (RSA 2048, 5 years), to be uploaded at Apple ' +
      'Business Manager or Apple School Manager, which encrypts the server token to it. The key stays ' +
      'here, sealed. Nothing that is in use changes before the token is uploaded: each download ' +
      'makes another pair. With `account` the token will renew that account. Downloads are audited.',
    tag: 'dep_accounts',
    role: 'admin',
    parameters: [
      {
        name: 'account',
        in: 'query',
        description: 'Id of the account that the token is meant for.',
        schema: { type: 'integer', minimum: 1 },
      },
    ],
    answers: [{ status: 200, description, content: [{ mediaType: TYPE, schema }] }],
    errors: [400, 404, 422],
    handlers: [download(deps)],
    onError: auditRefusals(deps.api, AUDITED),
  };
  const GET = { ...operation, operationId: 'downloadDepCertificateByGet', changesState: true };
  return { GET, POST: { ...operation, operationId: 'downloadDepCertificate' } };
}

function download(deps: TokenCertificateDeps): RequestHandler {
  const { api, depTokenService } = deps;
  return async (req, res) => {
    refuseOthers(req, ['account']);
    const account = integerParameter(req, 'account');
    const work = async (trx: Transaction) => {
      const { id, pem } = await depTokenService.makeCertificate(trx, account);
      await auditDownload(trx, res, { id, account });
      return { status: 200, body: Buffer.from(pem) };
    };
    const context = contextOf(res);
    const idempotency = readIdempotency(req, Buffer.alloc(0));
    send(res, await performWrite(api.store, { context, idempotency, work }));
  };
}

function auditDownload(
  trx: Transaction,
  res: Response,
  { id, account }: { id: number; account: number | undefined },
): Promise<void> {
  const details = account === undefined ? {} : { dep_account: account };
  const event = { context: contextOf(res), ...AUDITED, targetId: id };
  return writeAudit(trx, { ...event, outcome: 'success', details });
}

function send(res: Response, { body, replayed }: Pick<Answer, 'body' | 'replayed'>): void {
  if (replayed === true) res.setHeader('Idempotency-Replayed', 'true');
  res.attachment(FILE).setHeader('Content-Type', TYPE);
  res.send(body);
}
