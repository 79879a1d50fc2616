import { createCommandServices } from './commands/command-services.js';
import type { CommandQueue } from './commands/queue.js';
import type { SecretBox } from './crypto/secret-box.js';
import { CertificateService } from './pki/certificate-service.js';
import { SigningRequestService } from './pki/signing-request-service.js';
import type { ResourceServices } from './resources/services.js';

export interface ResourceServiceDeps {
  box: SecretBox;
  queue: CommandQueue;
  /** What devices are told; without a slash at its end. */
  publicUrl: string;
  /** After the commit of a change to the CAs that are believed in. */
  onAuthoritiesChange?: () => void;
}

/** What the resources need of the rest, put together: for the container and for tests. */
export function createResourceServices(deps: ResourceServiceDeps): ResourceServices {
  const { box, queue, publicUrl, onAuthoritiesChange = () => undefined } = deps;
  return {
    ...createCommandServices(box, queue),
    secrets: { seal: (secret, identity) => box.seal(Buffer.from(secret, 'utf8'), identity) },
    enrollmentProgram: { enrollmentUrl: `${publicUrl}/dep/enroll` },
    scep: { ownUrl: `${publicUrl}/scep` },
    certificates: new CertificateService({ box, onAuthoritiesChange }),
    signingRequests: new SigningRequestService(box),
  };
}
