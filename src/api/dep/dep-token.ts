import type { ApiRoute } from '../api-route.js';
import { type TokenCertificateDeps, tokenCertificateOperations } from './dep-token-certificate.js';
import { type TokenUploadDeps, tokenUploadOperation } from './dep-token-upload.js';

export type DepTokenDeps = TokenCertificateDeps & TokenUploadDeps;

/** Where these lie: not below /api/v1, but with its rules. */
export const DEP_BASE = '/dep';

/** Download of the certificate for Apple's portal, and upload of its server token. */
export function depTokenRoutes(deps: DepTokenDeps): ApiRoute[] {
  const base = DEP_BASE;
  return [
    { base, path: '/certificate/download', methods: tokenCertificateOperations(deps) },
    { base, path: '/stoken/upload', methods: { POST: tokenUploadOperation(deps) } },
  ];
}
