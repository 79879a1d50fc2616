import { type Request, type Response, Router } from 'express';
import { decodeBase64 } from '../crypto/asn1/base64.js';
import { AppError } from '../errors.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import { deviceErrorHandler } from '../http/errors/device-errors.js';
import { requireStarted } from '../pki/authority/authority.js';
import { answerPkiOperation, type PkiOperationDeps } from './pki-operation.js';

const MAX_MESSAGE_BYTES = 64 * 1024;

export interface ScepRouterDeps extends PkiOperationDeps {
  bodies: BodyReader;
}

// "SCEPStandard" stands for AES, POSTPKIOperation and SHA-256; older clients want each by name.
const CAPABILITIES = Buffer.from(
  ['Renewal', 'SHA-1', 'SHA-256', 'AES', 'DES3', 'SCEPStandard', 'POSTPKIOperation'].join('\n'),
);

/** SCEP (RFC 8894) at /scep. */
export function createScepRouter(deps: ScepRouterDeps): Router {
  const router = Router();
  router
    .route('/scep')
    .get((req, res) => answer(req, res, deps))
    .post((req, res) => answer(req, res, deps))
    .all(() => {
      throw methodNotAllowed();
    });
  router.use('/scep', deviceErrorHandler(deps.logger));
  return router;
}

async function answer(req: Request, res: Response, deps: ScepRouterDeps): Promise<void> {
  switch (parameter(req, 'operation')) {
    case 'GetCACaps':
      send(res, 'text/plain', CAPABILITIES);
      return;
    case 'GetCACert':
      send(res, 'application/x-x509-ca-cert', deps.authorities.current.certificate.der);
      return;
    case 'PKIOperation': {
      requireStarted(deps.authorities.current.certificate);
      const reply = await answerPkiOperation(await readMessage(req, deps), deps);
      send(res, 'application/x-pki-message', reply);
      return;
    }
    default:
      throw badRequest('unknown operation');
  }
}

function parameter(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value : '';
}

/** Without Express, which adds a charset that some clients reject. */
function send(res: Response, type: string, body: Buffer): void {
  res.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length });
  res.end(body);
}

async function readMessage(req: Request, { bodies }: ScepRouterDeps): Promise<Buffer> {
  if (req.method === 'POST') return await bodies.read(req, MAX_MESSAGE_BYTES);
  // HEAD would issue a certificate and discard the answer.
  if (req.method === 'HEAD') throw methodNotAllowed();
  return messageInQuery(req);
}

function methodNotAllowed(): AppError {
  const headers = { Allow: 'GET, POST' };
  return new AppError('method_not_allowed', 405, 'only GET and POST', { headers });
}

/** By GET the message is base64 in the query, where a `+` may have turned into a space. */
function messageInQuery(req: Request): Buffer {
  const text = parameter(req, 'message')
    .replace(/[\r\n]/g, '')
    .replace(/ /g, '+');
  const message = decodeBase64(text);
  if (message === undefined) throw badRequest('the message is not base64');
  return message;
}

function badRequest(reason: string): AppError {
  return new AppError('bad_request', 400, reason);
}
