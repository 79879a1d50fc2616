import type { Request, RequestHandler, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { requireRecentSignIn } from '../../jsonapi/requests/recent-sign-in.js';
import type {
  CredentialFile,
  CredentialFiles,
  FileFormat,
} from '../../pki/credentials/credential-files.js';
import { type ApiOperation, type ApiParameter, type ApiRoute, fileAnswer } from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';
import { booleanParameter, pathId, refuseOthers } from '../request-parts.js';

export interface CredentialDownloadDeps {
  db: Database;
  api: ApiContext;
  credentialFiles: CredentialFiles;
}

const CERTIFICATE_TYPES = [
  'application/x-pem-file',
  'application/pkix-cert',
  'application/pkcs7-mime',
];
const KEY_DOWNLOAD = { action: 'rsa_private_keys.download', targetType: 'rsa_private_keys' };
const FORMATS = ['pem', 'der'] as const;

const formatParameter: ApiParameter = {
  name: 'format',
  in: 'query',
  description: 'The form of the file: PEM by default, or DER.',
  schema: { type: 'string', enum: [...FORMATS], default: 'pem' },
};

const chainParameter: ApiParameter = {
  name: 'chain',
  in: 'query',
  description:
    'With the certificates of its issuers, the root last: those that came with it, else those of ' +
    'the CAs stored here. In DER it is then PKCS #7 (.p7b).',
  schema: { type: 'boolean', default: false },
};

/** undefined when the query names none. */
function formatOf({ query }: Request): FileFormat | undefined {
  if (query.format === undefined) return undefined;
  const format = FORMATS.find((known) => known === query.format);
  if (format !== undefined) return format;
  const source = { parameter: 'format' };
  throw new AppError('invalid_parameter', 400, 'format must be one of pem, der', { source });
}

/** Files are sent whatever `Accept` says, but it may ask for the other form. */
function acceptedFormat(req: Request): FileFormat {
  const accepted = req.accepts(['application/x-pem-file', 'application/pkcs8']);
  return accepted === 'application/pkcs8' ? 'der' : 'pem';
}

function send(res: Response, { name, mediaType, bytes }: CredentialFile): void {
  res.attachment(name).setHeader('Content-Type', mediaType);
  res.send(bytes);
}

function downloadCertificate({ db, credentialFiles }: CredentialDownloadDeps): RequestHandler {
  return async (req, res) => {
    refuseOthers(req, ['format', 'chain']);
    const format = formatOf(req) ?? 'pem';
    const withChain = booleanParameter(req, 'chain');
    const id = pathId(req, 'id', 'certificates');
    send(res, await credentialFiles.certificate(db, { id, format, withChain }));
  };
}

/** The line of audit is committed before the first byte leaves. */
function downloadKey({ db, credentialFiles }: CredentialDownloadDeps): RequestHandler {
  return async (req, res) => {
    refuseOthers(req, ['format']);
    requireRecentSignIn(contextOf(res).actor);
    const format = formatOf(req) ?? acceptedFormat(req);
    const id = pathId(req, 'id', KEY_DOWNLOAD.targetType);
    const file = await inTransaction(db, async (trx) => {
      const opened = await credentialFiles.privateKey(trx, id, format);
      await writeAudit(trx, {
        context: contextOf(res),
        ...KEY_DOWNLOAD,
        targetId: id,
        outcome: 'success',
        details: { format },
      });
      return opened;
    });
    res.vary('Accept');
    send(res, file);
  };
}

function certificateDownload(deps: CredentialDownloadDeps): ApiOperation {
  return {
    operationId: 'downloadCertificate',
    summary: 'Download a certificate',
    tag: 'certificates',
    role: 'viewer',
    parameters: [formatParameter, chainParameter],
    answers: [fileAnswer('The certificate as a file.', ...CERTIFICATE_TYPES)],
    errors: [400, 404],
    handlers: [downloadCertificate(deps)],
  };
}

function keyDownload(deps: CredentialDownloadDeps): ApiOperation {
  return {
    operationId: 'downloadRsaPrivateKey',
    summary: 'Download a private key',
    description:
      'PKCS #8, not encrypted: PEM, or DER with `Accept: application/pkcs8` or `format=der`. Each ' +
      'download is audited, and each that is refused. A key that a CA has, or once had, never ' +
      'leaves, and with KEY_EXPORT=off no key does.',
    tag: 'rsa_private_keys',
    role: 'admin',
    parameters: [formatParameter],
    answers: [fileAnswer('The key as a file.', 'application/x-pem-file', 'application/pkcs8')],
    errors: [400, 404],
    handlers: [downloadKey(deps)],
    onError: auditRefusals(deps.api, KEY_DOWNLOAD),
  };
}

/** Certificates and private keys as files. */
export function credentialDownloadRoutes(deps: CredentialDownloadDeps): ApiRoute[] {
  return [
    { path: '/download/certificates/{id}', methods: { GET: certificateDownload(deps) } },
    { path: '/rsa_private_keys/{id}/download', methods: { GET: keyDownload(deps) } },
  ];
}
