import type { RenewalRow } from '../../../src/db/enroll/identity-renewal-repository.js';
import { judgeRenewal, nextLook } from '../../../src/enroll/renewal/renewal-verdict.js';

const now = new Date('2026-03-10T12:00:00Z');
const HOUR_MS = 3_600_000;

function hoursAgo(hours: number): Date {
  return new Date(now.getTime() - hours * HOUR_MS);
}

const QUEUED: RenewalRow = {
  device_id: 1,
  fingerprint: Buffer.alloc(32, 1),
  active_fingerprint: Buffer.alloc(32, 1),
  command_id: 7,
  attempts: 1,
  udid: 'U',
  is_enrolled: true,
  enrollment_number: 1,
  enrollment_method: 'profile',
  managed_apple_account: null,
  topic: null,
  cell: null,
  profile_identifier: null,
  status: 'Queued',
  acknowledged_at: null,
  reason: null,
  error_chain: null,
};

function judge(columns: Partial<RenewalRow>) {
  return judgeRenewal({ ...QUEUED, ...columns }, now);
}

describe('the verdict on a renewal', () => {
  it.each([
    ['has unenrolled', { is_enrolled: false }],
    ['has no identity left', { active_fingerprint: null }],
    [
      'has unenrolled, although with another identity',
      { is_enrolled: false, active_fingerprint: Buffer.alloc(32, 2) },
    ],
  ])('is over once the device %s, whatever the outcome of the command', (_what, columns) => {
    for (const status of [null, 'Queued', 'Sent', 'Error', 'Acknowledged', 'Cancelled']) {
      expect(judge({ ...columns, status })).toEqual({ kind: 'over' });
    }
  });

  it('is done once the device uses another identity, whatever it reported', () => {
    for (const status of [null, 'Queued', 'Sent', 'Error', 'Acknowledged', 'Cancelled']) {
      const active_fingerprint = Buffer.alloc(32, 2);
      expect(judge({ active_fingerprint, status })).toEqual({ kind: 'renewed' });
    }
  });

  it('is to retry when no command is under way', () => {
    expect(judge({ status: null, command_id: null })).toEqual({ kind: 'attempt' });
  });

  it.each(['Queued', 'Sent', 'NotNow'])('is to wait while the command is %s', (status) => {
    const until = new Date('2026-03-10T13:00:00Z');
    expect(judge({ status })).toEqual({ kind: 'wait', until });
    expect(nextLook(now)).toEqual(until);
  });

  it('is to wait for a day after the profile was installed', () => {
    const acknowledged = (hours: number) =>
      judge({ status: 'Acknowledged', acknowledged_at: hoursAgo(hours) });
    expect(acknowledged(0)).toEqual({ kind: 'wait', until: hoursAgo(-1) });
    expect(acknowledged(23.5)).toEqual({ kind: 'wait', until: hoursAgo(-0.5) });
    expect(acknowledged(24)).toEqual({
      kind: 'failed',
      problem: 'the profile was installed, but no new identity was used',
      retryAt: hoursAgo(-1),
    });
  });

  it.each([
    [1, 1],
    [2, 4],
    [3, 24],
    [4, 72],
    [5, 168],
    [50, 168],
  ])('is a pause after attempt %d of %d hours', (attempts, hours) => {
    const columns = { attempts, status: 'CommandFormatError', acknowledged_at: hoursAgo(0.25) };
    expect(judge(columns)).toEqual({
      kind: 'failed',
      problem: 'the device answered CommandFormatError',
      retryAt: hoursAgo(0.25 - hours),
    });
  });

  it('contains the error of the device, shortened', () => {
    const error_chain = [{ LocalizedDescription: 'x'.repeat(500) }, { LocalizedDescription: 'y' }];
    expect(judge({ status: 'Error', acknowledged_at: now, error_chain })).toMatchObject({
      problem: `the device answered Error: ${'x'.repeat(200)}`,
    });
    const odd = [{ LocalizedDescription: 5 }];
    expect(judge({ status: 'Error', acknowledged_at: now, error_chain: odd })).toMatchObject({
      problem: 'the device answered Error',
    });
  });

  it('is to retry after a pause when the command was never answered', () => {
    expect(judge({ status: 'Expired', reason: 'no answer after its last offer' })).toEqual({
      kind: 'failed',
      problem: 'the command is Expired: no answer after its last offer',
      retryAt: hoursAgo(-1),
    });
    expect(judge({ status: 'Cancelled', attempts: 2 })).toEqual({
      kind: 'failed',
      problem: 'the command is Cancelled: no reason given',
      retryAt: hoursAgo(-4),
    });
  });
});
