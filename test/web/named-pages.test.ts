import { pagesNamedIn } from '../../web/src/text/named-pages.js';
import { stepAdvice } from '../../web/src/text/own-words.js';

describe('the pages that a text of the API names', () => {
  it('are each named once', () => {
    const text =
      'POST it to /api/v1/push_certificates, or see /api/v1/push_certificates and /api/v1/jobs.';
    expect(pagesNamedIn(text).map(({ to }) => to)).toEqual(['/set-up', '/settings/jobs']);
  });

  it('include the devices of a push state, and a batch', () => {
    expect(
      pagesNamedIn('find them by /api/v1/devices?filter[push_state]=unregistered (or bad_token).'),
    ).toEqual([
      { to: '/devices', label: 'Show the devices', filter: 'push_state~eq~unregistered' },
    ]);
    expect(pagesNamedIn('(POST /api/v1/command_batches/7/retry_failed)')[0]?.to).toBe(
      '/commands/batches/7',
    );
  });

  it('are none where the console has no page', () => {
    expect(pagesNamedIn('POST /api/v1/ca_certificates/rotate and nothing else')).toEqual([]);
  });

  it('replace a request that the page of a device has as a button', () => {
    expect(stepAdvice('To ask at once, push the device: POST /api/v1/devices/3/push.')).toBe(
      'To ask at once, push the device: “Send a push”.',
    );
    expect(stepAdvice('Read why that one waits: GET /api/v1/commands/9/timeline. Then')).toBe(
      'Read why that one waits: open command 9 in this list. Then',
    );
  });
});
