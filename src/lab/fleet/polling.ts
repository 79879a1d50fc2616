import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import type { FleetMember } from './fleet-member.js';

/** What makes the members of a fleet ask for their commands. */
export interface Polling {
  /** Before the server hears of the device. */
  prepare(member: FleetMember, profile: EnrollmentProfile): Promise<void>;
  /** Whether or not it has enrolled. */
  afterEnrollment(member: FleetMember): Promise<void>;
  /** Resolves when every command offered has its final answer, or when it is no use to wait on. */
  settle(): Promise<void>;
  /** Goes on until the fleet is interrupted. */
  stay(): Promise<void>;
  close(): void;
}
