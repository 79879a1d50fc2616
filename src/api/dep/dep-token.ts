import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { Changes } from '../../events/audit.js';
import type { BodyReader } from '../../http/bodies/body-reader.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import type { ApiRoute } from '../routing/api-route.js';
import { tokenCertificateOperations } from './dep-token-certificate.js';
import { tokenUploadOperation } from './dep-token-upload.js';

export interface DepTokenDeps {
  db: Database;
  engine: ApiContext;
  uploads: BodyReader;
  depTokenService: {
    /** AppError 404: no such account. */
    makeCertificate(
      trx: Transaction,
      accountId: number | undefined,
    ): Promise<{ id: number; pem: string }>;
    /** AppError 422 and 409 that tell which step failed. */
    open(file: Buffer): Promise<{
      store(trx: Transaction, options: { isForced: boolean; by: string }): Promise<TakenToken>;
    }>;
  };
}

export interface TakenToken {
  accountId: number;
  outcome: 'created' | 'renewed' | 'replaced' | 'unchanged';
  warnings: { code: string; detail: string }[];
  /** Of the account, for the audit trail. */
  changes: Changes;
}

/** Where these lie: not below /api/v1, but with its rules. */
export const DEP_BASE = '/dep';

/** How a server token of Apple's portal comes here. */
export function depTokenRoutes(deps: DepTokenDeps): ApiRoute[] {
  const base = DEP_BASE;
  return [
    { base, path: '/certificate/download', methods: tokenCertificateOperations(deps) },
    { base, path: '/stoken/upload', methods: { POST: tokenUploadOperation(deps) } },
  ];
}
