import {
  type Facts,
  minute,
  pushAction,
  sentence,
  type TextInput,
  type TextOf,
} from './finding-text.js';

const ENROLL_AGAIN = 'Enroll the device again (docs/enrollment.md).';

/** Without a renewal under way the identity is renewed now; else its command has to arrive. */
function renewal({ facts, deviceId }: TextInput): {
  advice: string;
  action: ReturnType<typeof pushAction>;
} {
  if (!facts.is('is_renewing')) {
    return {
      advice: 'Renew the identity now; the finding ends when the device uses the new one.',
      action: { method: 'POST', path: `/api/v1/devices/${deviceId}/renew_identity`, body: null },
    };
  }
  const command = facts.text('command_id');
  return {
    advice: `A renewal is under way${command === undefined ? '' : ` (command ${command})`}: switch the device on, connect it to the internet and push it. The finding ends when the device uses its new identity.`,
    action: pushAction(deviceId),
  };
}

function problem(facts: Facts): string {
  const text = facts.text('renewal_problem');
  return text === undefined ? '' : `; its renewal has a problem: ${text}`;
}

/** Whether the device is enrolled as it should be. */
export const ENROLLMENT_TEXTS: Record<string, TextOf> = {
  enrollment_incomplete: ({ since }) => ({
    message: `The device began to enroll on ${minute(since)} and never finished: it has sent Authenticate, but no TokenUpdate.`,
    advice: `${ENROLL_AGAIN} The finding ends when the enrollment is complete, or the record is deleted.`,
    action: null,
  }),
  unenrolled: ({ since, deviceId }) => ({
    message: `The device ended its enrollment on ${minute(since)}: its enrollment profile was removed.`,
    advice: `${ENROLL_AGAIN} If it is retired, delete its record by DELETE /api/v1/devices/${deviceId}, or leave it: nothing is wrong.`,
    action: null,
  }),
  erased: ({ facts, since, deviceId }) => ({
    message: `The device was erased on ${minute(since)}: it acknowledged EraseDevice (command ${facts.number('command_id')}). It counts as enrolled until it enrolls again.`,
    advice: `It enrolls again by Setup Assistant if Automated Device Enrollment is set up for it, otherwise by its user (docs/enrollment.md). If it is retired, delete its record by DELETE /api/v1/devices/${deviceId}.`,
    action: null,
  }),
  setup_stuck: ({ facts, since, deviceId }) => {
    const reason = facts.text('reason');
    const waits = `The device waits in Setup Assistant since ${minute(since)}${reason === undefined ? '' : `: ${reason.replace(/\.$/, '')}`}`;
    const lastSeen = facts.time('last_seen');
    const isPending = facts.is('is_pending');
    return {
      message: `${waits}; its last contact was ${lastSeen === undefined ? 'never' : `on ${lastSeen}`}.`,
      advice: isPending
        ? `Connect the device to the internet and push it: it is released when it answers DeviceConfigured (command ${facts.number('command_id')}).`
        : 'Queue DeviceConfigured: it releases the device when the device answers it.',
      action: isPending
        ? pushAction(deviceId)
        : {
            method: 'POST',
            path: `/api/v1/devices/${deviceId}/commands`,
            body: { data: { type: 'commands', attributes: { request_type: 'DeviceConfigured' } } },
          },
    };
  },
  enrollment_replaced: ({ facts, since }) => ({
    message: `A new enrollment that did not prove its serial number replaced the live one on ${minute(since)}.`,
    advice: `Ask the person who has the device whether they enrolled it again. If so, do nothing: the finding ends on ${facts.time('until')}. If not, another device has taken over the record: see "Check a live enrollment that was replaced" in docs/enrollment.md.`,
    action: null,
  }),
  enrollment_held: ({ facts, since }) => {
    const id = facts.number('request_id');
    return {
      message: `A new enrollment of the device waits for an admin since ${minute(since)} (request ${id}, ${facts.number('attempts')} attempts, the last on ${facts.time('last_attempt_at')}).`,
      advice: `Ask the person who has the device whether they enroll it again. If so, approve request ${id} and have the device try again. If not, do nothing: the request expires on ${facts.time('expires_at')}.`,
      action: { method: 'POST', path: `/api/v1/enrollment_requests/${id}/approve`, body: null },
    };
  },
  identity_expires_soon: (input) => ({
    message: sentence(
      `The identity certificate of the device expires on ${input.facts.time('not_after')}${problem(input.facts)}`,
    ),
    ...renewal(input),
  }),
  identity_expired: (input) => ({
    message: sentence(
      `The identity certificate of the device expired on ${input.facts.time('not_after')} and is accepted until ${input.facts.time('accepted_until')}${problem(input.facts)}`,
    ),
    ...renewal(input),
  }),
  identity_refused: ({ facts, since }) => ({
    message: `The identity certificate of the device expired on ${facts.time('not_after')}, and since ${minute(since)} it is not accepted any more.`,
    advice: ENROLL_AGAIN,
    action: null,
  }),
  dep_profile_differs: ({ facts }) => {
    const account = facts.number('dep_account_id');
    const present = facts.text('present');
    const reason = facts.text('problem');
    return {
      message: `Apple has ${present === undefined ? 'no profile' : `the profile ${present}`} for the device instead of ${sentence(`${facts.text('profile_name')} (${facts.text('wanted') ?? 'not defined yet'})${reason === undefined ? '' : `: ${reason}`}`)}`,
      advice: `Correct what the reason names, if there is one, and sync DEP account ${account}: the sync sends the profile again, and the finding ends when Apple has it.`,
      action: { method: 'POST', path: `/api/v1/dep/accounts/${account}/sync`, body: null },
    };
  },
};
