import type { FleetSnapshot } from './fleet-state.js';

const MAX_SHOWN = 10;

function seconds(snapshot: FleetSnapshot): string {
  return `${snapshot.seconds.toFixed(1)} s`;
}

function answered({ answers }: FleetSnapshot): number {
  return answers.Acknowledged + answers.Error + answers.CommandFormatError;
}

/** "enrolled 12/20, pushed 31, answered 85, not now 3, 4.2 s" */
export function describeProgress(snapshot: FleetSnapshot): string {
  const { stages, total, answers, pushes, retries, failures } = snapshot;
  const parts = [
    `enrolled ${total - stages.waiting - stages.enrolling - stages.failed}/${total}`,
    pushes > 0 ? `pushed ${pushes}` : '',
    `answered ${answered(snapshot)}`,
    answers.NotNow > 0 ? `not now ${answers.NotNow}` : '',
    retries > 0 ? `retries ${retries}` : '',
    failures.length > 0 ? `errors ${failures.length}` : '',
    seconds(snapshot),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function describeStages({ stages, total }: FleetSnapshot): string {
  const others = [
    [stages.erased, 'erased'],
    [stages.released, 'released'],
    [stages.unenrolled, 'unenrolled by the server'],
    [stages.failed, 'failed'],
    [stages.waiting + stages.enrolling, 'not finished'],
  ] as const;
  const present = others.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`);
  return [`${stages.enrolled} of ${total} enrolled`, ...present].join(', ');
}

function describeAnswers(snapshot: FleetSnapshot): string {
  const { Acknowledged, Error: errors, CommandFormatError, NotNow } = snapshot.answers;
  const parts = [
    `${Acknowledged} Acknowledged`,
    errors > 0 ? `${errors} Error` : '',
    CommandFormatError > 0 ? `${CommandFormatError} CommandFormatError` : '',
  ];
  const total = `${answered(snapshot)} answered (${parts.filter((part) => part !== '').join(', ')})`;
  const later = NotNow > 0 ? `, ${NotNow} times NotNow` : '';
  const open = snapshot.unanswered > 0 ? `, ${snapshot.unanswered} still without an answer` : '';
  return `${total}${later}${open}`;
}

/** Only in a fleet that polls when pushed. */
function describePushes({ pushes, unpushed }: FleetSnapshot): string[] {
  if (pushes === 0 && unpushed === 0) return [];
  const without = unpushed > 0 ? `, ${unpushed} devices without any` : '';
  return [`Pushes:   ${pushes} received${without}`];
}

/** Only if devices are still held in Setup Assistant. */
function describeAwaiting({ awaiting }: FleetSnapshot): string[] {
  return awaiting === 0 ? [] : [`Setup:    ${awaiting} still wait in Setup Assistant`];
}

/** Only if devices enrolled by DEP that Apple's stand-in does not know. */
function describeUnknown({ unknownToApple }: FleetSnapshot): string[] {
  if (unknownToApple === 0) return [];
  return [
    `DEP:      ${unknownToApple} unknown to Apple's stand-in, enrolled at /dep/enroll directly`,
  ];
}

/** The lines printed at the end. */
export function describeSummary(snapshot: FleetSnapshot): string {
  const { failures, retries } = snapshot;
  const shown = failures.slice(0, MAX_SHOWN).map(({ serialNumber, reason }) => {
    return `  ${serialNumber}: ${reason}`;
  });
  const more = failures.length - shown.length;
  return [
    `Devices:  ${describeStages(snapshot)}`,
    ...describeAwaiting(snapshot),
    ...describeUnknown(snapshot),
    ...describePushes(snapshot),
    `Commands: ${describeAnswers(snapshot)}`,
    `Time:     ${seconds(snapshot)}${retries > 0 ? `, ${retries} requests repeated` : ''}`,
    ...(failures.length > 0 ? [`Errors:   ${failures.length}`, ...shown] : []),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}
