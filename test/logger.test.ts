import { createLogger } from '../src/logger.js';

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
