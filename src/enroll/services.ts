import type { Config } from '../config/config.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import type { Logger } from '../logger.js';
import type { EnrollmentChallenges } from '../pki/authority/enrollment-challenge.js';
import type { FactoryCaTrust } from '../pki/trust/factory-ca.js';
import type { EnrollmentPolicy } from './enrollment-policy.js';
import type { EnrollmentProfileDeps } from './enrollment-profile.js';
import type { ProfileSigner } from './send-profile.js';

/** What the surfaces that enroll devices share. */
export interface EnrollServices extends EnrollmentProfileDeps {
  config: Config;
  policy: EnrollmentPolicy;
  /** Who may sign as a device that is not enrolled yet. */
  factoryCas: FactoryCaTrust;
  /** Challenges of the Profile Service, which SCEP does not take. */
  otaChallenges: EnrollmentChallenges;
  /** The one of this moment; undefined while the server has no certificate of its own. */
  signer: () => ProfileSigner | undefined;
  /** DER of what this server shows in TLS, the leaf first, where it speaks TLS itself. */
  tlsChain: () => Buffer[];
  bodies: BodyReader;
  logger: Logger;
}
