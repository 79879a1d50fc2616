import type { SetupFault } from '../db/devices/device-setup-profiles.js';

const MAX_SHOWN = 5;
const MAX_NAME_LENGTH = 80;
const MAX_TEXT_LENGTH = 200;

/** Why a device's profiles are withheld. */
export const UNPROVED =
  "the device did not enroll automatically with an identity by this server's own SCEP";

/** The result of a command: what the device reported, or why there is no report. */
export function answerOf({
  status,
  error_chain: errors,
  command_reason: reason,
}: Pick<SetupFault, 'status' | 'error_chain' | 'command_reason'>): string {
  const text = errors?.[0]?.LocalizedDescription;
  const detail = typeof text === 'string' ? text.slice(0, MAX_TEXT_LENGTH) : reason;
  return `${status}${detail === null ? '' : `: ${detail}`}`;
}

/** The reason of a setup that has ended, with the profiles not installed; null without any. */
export function reasonWithFaults(reason: string | null, faults: SetupFault[]): string | null {
  const withheld = faults.filter(({ fault }) => fault === 'withheld').length;
  const others = faults.filter(({ fault }) => fault !== 'withheld');
  const shown = others.slice(0, MAX_SHOWN).map(describe);
  if (others.length > shown.length) {
    shown.push(`${others.length - shown.length} profiles more failed`);
  }
  if (withheld > 0) shown.push(heldBack(withheld));
  // If the setup has ended before, its reason already contains them.
  const parts = [reason, ...shown.filter((part) => reason?.includes(part) !== true)];
  return parts.filter((part) => part !== null).join('; ') || null;
}

function heldBack(count: number): string {
  const profiles = count === 1 ? '1 assigned profile was' : `${count} assigned profiles were`;
  return `${profiles} held back: ${UNPROVED}`;
}

function describe(fault: SetupFault): string {
  const profile = `profile ${fault.profile_id} "${fault.profile.slice(0, MAX_NAME_LENGTH)}"`;
  if (fault.fault === 'unbuilt') return `${profile} was left out: it could not be built`;
  if (fault.command_id === null) return `${profile} was left out: its command was removed`;
  return `${profile} was not installed: command ${fault.command_id} is ${answerOf(fault)}`;
}
