import { minute, pushAction, sentence, type TextOf } from './finding-text.js';

function more(count: number, what: string): string {
  return count > 1 ? ` and ${count - 1} more ${count === 2 ? what : `${what}s`}` : '';
}

/** What the device does with commands, profiles and questions. */
export const WORK_TEXTS: Record<string, TextOf> = {
  not_now: ({ facts, since, deviceId }) => ({
    message: `The device answers NotNow to ${facts.text('request_type')} (command ${facts.number('command_id')})${more(facts.number('commands'), 'command')} since ${minute(since)}.`,
    advice:
      'Unlock the device: a locked device postpones commands that need an unlocked one. Then push it, so that it fetches them again; the finding ends when it carries them out. Or cancel the command.',
    action: pushAction(deviceId),
  }),
  command_unanswered: ({ facts, since }) => {
    const id = facts.number('command_id');
    if (facts.is('is_expired')) {
      return {
        message: `The device has fetched ${facts.text('request_type')} (command ${id}) ${facts.number('attempts')} times, last on ${minute(since)}, until it expired, and has answered no command since${more(facts.number('commands'), 'such command')}.`,
        advice:
          'Restart the device and queue the command again: the finding ends when the device answers a command, or 30 days after. If it fetches commands and answers none after a restart, enroll it again.',
        action: null,
      };
    }
    return {
      message: `The device has fetched ${facts.text('request_type')} (command ${id}) ${facts.number('attempts')} times, last on ${minute(since)}, and never answered it${more(facts.number('commands'), 'such command')}.`,
      advice: `Cancel command ${id}, so that the commands behind it are sent, and queue it again later.`,
      action: {
        method: 'PATCH',
        path: `/api/v1/commands/${id}`,
        body: { data: { type: 'commands', id, attributes: { status: 'Cancelled' } } },
      },
    };
  },
  commands_failing: ({ facts, since }) => {
    const id = facts.number('command_id');
    const type = facts.text('request_type');
    return {
      message: `${type} has failed ${facts.number('failures')} times in a row since ${minute(since)}, last on ${facts.time('last_at')} (command ${id}): ${sentence(facts.text('error'))}`,
      advice: `Read the device's errors at /api/v1/commands/${id}, remove their cause and queue ${type} again: the finding ends when the device acknowledges one, or 30 days after the last failure.`,
      action: null,
    };
  },
  items_failed: ({ facts, since, deviceId }) => {
    const items = facts.number('items');
    const id = facts.number('item_id');
    const body = {
      filter: [
        { name: 'device', op: 'eq', val: deviceId },
        { name: 'state', op: 'eq', val: 'failed' },
      ],
    };
    return {
      message: `The assigned profile ${facts.text('identifier')} (item ${id}) has failed on ${minute(since)}${more(items, 'profile')}: ${sentence(facts.text('reason') ?? 'no reason is known')}`,
      advice:
        'Correct what the reason names, for example by a new version of the profile. Then try again: the finding ends when the device installs or removes it.',
      action:
        items > 1
          ? { method: 'POST', path: '/api/v1/device_items/retry', body }
          : { method: 'POST', path: `/api/v1/device_items/${id}/retry`, body: null },
    };
  },
  inventory_stale: ({ facts, since, deviceId }) => ({
    message: facts.is('is_first')
      ? `The device has not reported what it is (DeviceInformation) since it enrolled on ${minute(since)}.`
      : `The last inventory of the device is of ${minute(since)}.`,
    advice: 'Queue an inventory; the finding ends when the device has answered it.',
    action: { method: 'POST', path: `/api/v1/devices/inventory/${deviceId}`, body: null },
  }),
};
