import { type Facts, minute, pushAction, type TextOf } from './finding-text.js';

/** "the last push was accepted by APNs on …" */
function lastPush(facts: Facts): string {
  const result = facts.text('last_push_result');
  const at = facts.time('last_push_at');
  if (result === undefined || at === undefined) return 'it was never pushed';
  return result === 'delivered'
    ? `APNs accepted the last push on ${at}`
    : `the last push, on ${at}, was answered ${result}`;
}

const REASONS: Record<string, string> = {
  unregistered: 'APNs says that the push token of the device is not in use any more (Unregistered)',
  bad_token: 'APNs says that the push token of the device is wrong (BadDeviceToken)',
};

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** "3 hours ahead" */
function offsetText(seconds: number): string {
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, one]) => size >= one) ?? ['second', 1];
  const count = Math.round(size / length);
  return `${count} ${unit}${count === 1 ? '' : 's'} ${seconds > 0 ? 'ahead' : 'behind'}`;
}

/** Whether the server can wake the device, and whether the device answers. */
export const REACH_TEXTS: Record<string, TextOf> = {
  no_push_token: ({ since }) => ({
    message: `The device is enrolled since ${minute(since)}, but has sent no push token, so that it can't be asked to fetch its commands.`,
    advice:
      'Enroll the device again: a device sends its push token at the end of its enrollment. See docs/enrollment.md.',
    action: null,
  }),
  topic_mismatch: ({ facts }) => {
    const stored = facts.list('stored_topics');
    const others = stored.length > 0 ? `only ${stored.join(', ')} is stored` : 'none is stored';
    return {
      message: `The device accepts only pushes of the topic ${facts.text('topic') ?? '(none)'}, for which no push certificate is stored: ${others}.`,
      advice: `Upload the push certificate with the topic ${facts.text('topic') ?? 'of the device'} by POST /api/v1/push_certificates. Without it enroll the device again: it then gets the topic of the certificate that is stored.`,
      action: null,
    };
  },
  push_token_refused: ({ facts, deviceId }) => ({
    message: `${REASONS[facts.text('push_state') ?? ''] ?? 'APNs refuses the push token of the device'}; ${lastPush(facts)}, and the device is not pushed any more.`,
    advice: `Push it once more by hand: POST /api/v1/devices/${deviceId}/push shows the answer of APNs, and if APNs accepts the push, the finding ends. If APNs refuses it again, the device must contact the server by itself, which renews its token, or enroll again.`,
    action: pushAction(deviceId),
  }),
  push_failing: ({ facts, deviceId }) => ({
    message: `The last ${facts.number('failed_push_count')} pushes of the device failed; ${lastPush(facts)}.`,
    advice: `Read the answer of APNs: POST /api/v1/devices/${deviceId}/push. TopicDisallowed and the reasons that name a certificate concern the push certificate: see /api/v1/credentials. Other reasons are tried again by themselves; the finding ends with the first push that APNs accepts.`,
    action: pushAction(deviceId),
  }),
  silent: ({ facts, since, deviceId }) => {
    const waiting = facts.number('waiting_commands');
    const commands = waiting === 1 ? '1 command waits' : `${waiting} commands wait`;
    return {
      message: `The device has not contacted the server since ${minute(since)}; ${lastPush(facts)}, and ${commands}.`,
      advice:
        'Switch the device on, connect it to the internet and push it: the finding ends when the device contacts the server. If it is on and stays silent after a restart, its enrollment profile is gone: enroll it again.',
      action: pushAction(deviceId),
    };
  },
  clock_wrong: ({ facts, deviceId }) => ({
    message: `The clock of the device is ${offsetText(facts.number('offset_seconds'))}, by the time at which it signed its message on ${facts.time('measured_at')}: certificates can count as expired or not yet valid for it.`,
    advice:
      'Have the device set its time by itself (Settings > General > Date & Time; on a Mac System Settings > General > Date & Time), then push it: the finding ends with the next message that it signs at the right time. If several devices have it, check the clock of the server.',
    action: pushAction(deviceId),
  }),
};
