import { version } from '../../package.json';
import type { Config } from '../config/config.js';
import { createDepServices, type DepDeps } from '../dep/dep-services.js';
import { type IdentityRenewalDeps, IdentityRenewals } from '../enroll/renewal/identity-renewal.js';
import { anchorCertificates } from '../enroll/trust-routes.js';
import type { Lab } from '../lab-mode/lab-mode.js';
import type { CertificateAuthorities } from '../pki/authority/authorities.js';
import { EnrollmentChallenges } from '../pki/authority/enrollment-challenge.js';
import type { TlsCertificates } from '../pki/tls/tls-certificates.js';
import { readDepCa } from './config-files.js';
import { shownChain } from './served-tls.js';

export interface EnrollmentServiceDeps
  extends Pick<DepDeps, 'db' | 'box' | 'logger' | 'jobs' | 'publicUrl'>,
    Pick<IdentityRenewalDeps, 'queue' | 'sign'> {
  config: Config;
  lab: Lab | undefined;
  authorities: CertificateAuthorities;
  tlsCertificates: TlsCertificates;
}

/** What enrolls devices and renews their identities, by hand and through Automated Device Enrollment. */
export function createEnrollmentServices(deps: EnrollmentServiceDeps) {
  const { config, db, box, logger, jobs, queue, lab, authorities, publicUrl, sign } = deps;
  const tlsChain = () => shownChain(deps.tlsCertificates);
  const caCertificates = () => [authorities.current.certificate.der];
  const challenges = new EnrollmentChallenges({ box });
  const issuing = { db, box, queue, challenges, publicUrl, caCertificates, sign };
  const renewals = new IdentityRenewals(issuing);
  const dep = createDepServices({
    db,
    box,
    logger,
    jobs,
    musterVersion: version,
    publicUrl,
    isLabOn: config.lab,
    host: lab?.depHost ?? config.depHost,
    ca: lab?.depCa ?? readDepCa(config),
    syncInterval: config.depSyncInterval,
    anchorCertificates: () => anchorCertificates({ db, publicUrl, tlsChain, caCertificates }),
  });
  return { challenges, renewals, dep };
}
