export type { DepProfile } from '../../db/dep/dep-profile-repository.js';

/** What of the server goes into the definitions of its profiles. */
export interface DefinitionContext {
  /** Where devices of the enrollment program ask this server. */
  enrollmentUrl: string;
  /** DER of what devices are to trust this server by. */
  anchors: readonly Buffer[];
  /** DER of the certificates of computers that may supervise devices. */
  supervisors: readonly Buffer[];
}
