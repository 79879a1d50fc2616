import type { RequestHandler } from 'express';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import type { FileVaultKey } from '../../pki/credentials/filevault-key.js';
import { type ApiRoute, fileAnswer } from '../api-route.js';
import { refuseParameters } from '../request-parts.js';

export interface FileVaultProfileDeps {
  db: Database;
  fileVaultKey: FileVaultKey;
  publicUrl: string;
}

const PROFILE_TYPE = 'application/x-apple-aspen-config';

// Not an `action`: it answers with a file, not with a document.
/** The profile by which Macs report their FileVault recovery keys to this server. */
export function fileVaultProfileRoutes(deps: FileVaultProfileDeps): ApiRoute[] {
  return [
    {
      path: '/configuration/file_vault/profile',
      methods: {
        GET: {
          operationId: 'downloadFileVaultProfile',
          summary: 'Download the FileVault escrow profile',
          description:
            'Macs with this profile encrypt their FileVault recovery key to a certificate of this ' +
            'server and report it in SecurityInfo. The certificate and its key are made with the ' +
            'first download. Upload the file as a profile to install it.',
          tag: 'configuration',
          role: 'operator',
          answers: [fileAnswer('The file.', PROFILE_TYPE)],
          errors: [400],
          handlers: [refuseParameters, sendProfile(deps)],
        },
      },
    },
  ];
}

function sendProfile({ db, fileVaultKey, publicUrl }: FileVaultProfileDeps): RequestHandler {
  return async (_req, res) => {
    const bytes = await inTransaction(db, (trx) => fileVaultKey.profile(trx, publicUrl));
    res.attachment('filevault.mobileconfig').setHeader('Content-Type', PROFILE_TYPE);
    res.send(bytes);
  };
}
