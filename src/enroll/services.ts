import type { Config } from '../config/config.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import type { FailureSharing } from '../http/requests/failure-limit.js';
import type { Logger } from '../logger.js';
import type { EnrollmentChallenges } from '../pki/authority/enrollment-challenge.js';
import type { FactoryCaTrust } from '../pki/trust/factory-ca.js';
import type { EnrollmentPolicy } from './enrollment-policy.js';
import type { EnrollmentProfileDeps } from './enrollment-profile.js';
import type { ProfileSigner } from './send-profile.js';

/** Services of the routes that enroll devices. */
export interface EnrollServices extends EnrollmentProfileDeps {
  config: Config;
  policy: EnrollmentPolicy;
  /** Issuers of the certificates with which unenrolled devices sign. */
  factoryCas: FactoryCaTrust;
  /** Challenges of the Profile Service; SCEP does not accept them. */
  otaChallenges: EnrollmentChallenges;
  /** The current signer; undefined while the server has no certificate. */
  signer: () => ProfileSigner | undefined;
  /** DER of this server's TLS chain, the leaf first; empty behind a proxy that terminates TLS. */
  tlsChain: () => Buffer[];
  bodies: BodyReader;
  /** undefined: no other process serves the same port. */
  failureSharing: FailureSharing | undefined;
  logger: Logger;
}
