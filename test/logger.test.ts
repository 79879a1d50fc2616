import { createLogger, createWarner } from '../src/logger.js';
import { capturingLogger } from './http/log-lines.js';

function logged(level: string, fields: object): string {
  const lines: string[] = [];
  const logger = createLogger(level, { write: (line: string) => void lines.push(line) });
  logger.info(fields, 'said');
  return lines.join('');
}

describe('a log line', () => {
  it.each([
    { authorization: 'Bearer hunter2' },
    { headers: { Authorization: 'Bearer hunter2' } },
    { req: { headers: { 'proxy-authorization': 'hunter2', cookie: 'hunter2' } } },
    { token: 'hunter2' },
    { device: { pushMagic: 'hunter2', push_token: 'hunter2' } },
    { message: { PushMagic: 'hunter2', UnlockToken: 'hunter2', Token: 'hunter2' } },
    { scep: { challenge: 'hunter2' }, pin: 'hunter2', password: 'hunter2' },
    { env: { ADMIN_TOKEN: 'hunter2', MASTER_KEY: 'hunter2', DATABASE_URL: 'hunter2' } },
    { connectionString: 'hunter2' },
    { devices: [{ udid: 'x', unlock_token: 'hunter2' }] },
  ])('does not hold the secret in %j', (fields) => {
    const line = logged('info', fields);
    expect(line).toContain('[redacted]');
    expect(line).not.toContain('hunter2');
  });

  it('does not hold the secrets that an error carries', () => {
    const err = Object.assign(new Error('no'), {
      token: 'hunter2',
      config: { password: 'hunter2' },
    });
    const line = logged('info', { err });
    expect(JSON.parse(line)).toMatchObject({
      err: {
        type: 'Error',
        message: 'no',
        token: '[redacted]',
        config: { password: '[redacted]' },
      },
    });
    expect(line).not.toContain('hunter2');
  });

  it('leaves the objects of the caller as they were', () => {
    const fields = { device: { pin: '1234', name: 'x' } };
    expect(JSON.parse(logged('info', fields))).toMatchObject({
      device: { pin: '[redacted]', name: 'x' },
    });
    expect(fields).toEqual({ device: { pin: '1234', name: 'x' } });
  });

  it('is JSON with an ISO time, the fields and the message', () => {
    expect(JSON.parse(logged('info', { device: 7 }))).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pid: process.pid,
      device: 7,
      msg: 'said',
    });
  });

  it('is not written below the level', () => {
    expect(logged('warn', {})).toBe('');
  });
});

describe('a warning that is repeated', () => {
  function warned(quietMs?: number) {
    const { logger, lines } = capturingLogger();
    const warn = createWarner(logger, quietMs);
    return { warn, logLines: () => lines.map(({ level, msg, n }) => [level, msg, n]) };
  }

  it('is logged at the level debug, each kind by itself', () => {
    const { warn, logLines } = warned();
    warn({ n: 1 }, 'a');
    warn({ n: 2 }, 'b');
    warn({ n: 3 }, 'a');
    warn({ n: 4 }, 'a', 'another kind');
    warn({ n: 5 }, 'c', 'another kind');
    expect(logLines()).toEqual([
      ...[
        [40, 'a', 1],
        [40, 'b', 2],
        [20, 'a', 3],
        [40, 'a', 4],
        [20, 'c', 5],
      ],
    ]);
  });

  it('is logged as a warning again after a while, however often it came meanwhile', async () => {
    const quietMs = 50;
    const { warn, logLines } = warned(quietMs);
    const start = performance.now();
    const warnings = () => logLines().filter(([level]) => level === 40).length;
    warn({}, 'a');
    warn({}, 'a');
    expect(warnings()).toBe(1);
    while (warnings() === 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      warn({}, 'a');
    }
    expect(performance.now() - start).toBeGreaterThanOrEqual(quietMs);
  });
});
