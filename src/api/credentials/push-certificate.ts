import type { RequestHandler } from 'express';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { PushCertificateRequests } from '../../pki/push-certificates/push-request-service.js';
import { type ApiOperation, type ApiRoute, fileAnswer } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';

export interface PushCertificateDeps {
  db: Database;
  pushCertificateRequests: PushCertificateRequests;
}

const TYPE = 'certificate_signing_requests';

/** The line of audit is committed before the first byte leaves. */
function downloadRequest({ db, pushCertificateRequests }: PushCertificateDeps): RequestHandler {
  return async (req, res) => {
    const id = pathId(req, 'id', TYPE);
    const { name, mediaType, bytes } = await inTransaction(db, async (trx) => {
      const signed = await pushCertificateRequests.file(trx, id);
      await writeAudit(trx, {
        context: contextOf(res),
        action: `${TYPE}.push_request`,
        targetType: TYPE,
        targetId: id,
        outcome: 'success',
        details: { file: signed.name, bytes: signed.bytes },
      });
      return signed;
    });
    res.attachment(name).setHeader('Content-Type', mediaType);
    res.send(bytes);
  };
}

/** The file that Apple's portal for push certificates accepts. */
export function pushCertificateRoutes(deps: PushCertificateDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'downloadPushCertificateRequest',
    summary: 'Download a request for a push certificate, signed for Apple',
    description:
      'The signing request (purpose `mdm.pushcert`) as identity.apple.com/pushcert accepts it: a ' +
      'property list in base64 with the request, its signature by the stored vendor certificate ' +
      '(purpose `mdm.vendor`) and the certificates up to the root. 409 `no_vendor_certificate` says ' +
      'what is missing, and the ways without one. Each download is audited.',
    tag: TYPE,
    role: 'admin',
    answers: [fileAnswer('The file to upload.', 'text/plain')],
    errors: [400, 404, 409],
    handlers: [refuseParameters, downloadRequest(deps)],
  };
  return [{ path: `/${TYPE}/{id}/push_request`, methods: { GET } }];
}
