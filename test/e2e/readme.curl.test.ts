import { startApp } from '../helpers/app.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { openLabWorld } from './lab-world.js';
import { runWalkThrough, shellBlocks } from './walk-through-runner.js';

afterAll(removeTemporaryDirectories);

describe("the README's examples with curl", () => {
  it('work as they are written and leave no file', async () => {
    const app = await startApp();
    try {
      const script = shellBlocks('README.md', '## The API by curl');
      // What was downloaded is what was uploaded, and a certificate is one.
      const checks = `
cmp "$FILES/original.mobileconfig" "$FILES/example.mobileconfig"
grep -q "^-----BEGIN CERTIFICATE-----" "$FILES/ca.pem"
`;
      const { connectionString } = app.database;
      const { calls, left } = await runWalkThrough(script + checks, {
        url: app.url,
        connectionString,
      });
      expect(calls.length).toBe((script.match(/\b(curl|new) /g)?.length ?? 0) - 1);
      expect(new Set(calls)).toEqual(
        new Set([
          'GET 200',
          'HEAD 200',
          'POST 200',
          'POST 201',
          'PATCH 200',
          'DELETE 200',
          'DELETE 204',
        ]),
      );
      expect(calls.filter((call) => call === 'DELETE 204')).toHaveLength(5);
      expect(left).toEqual([]);
      const devices = await app.db.knex('devices').count('* as n').first();
      expect(Number(devices?.n)).toBe(0);
    } finally {
      await app.stop();
    }
  });
});

describe("the README's walk through Apple's enrollment program", () => {
  it('works as it is written, enrolls three devices of ten, and leaves no file', async () => {
    const world = await openLabWorld();
    try {
      const script = shellBlocks('README.md', "### Apple's enrollment program, tried out");
      const { connectionString } = world.app.database;
      const { stdout, calls, left } = await runWalkThrough(script, {
        url: world.url,
        connectionString,
      });
      const asked = calls.filter((call, index) => call !== 'GET 200' || calls[index - 1] !== call);
      expect(asked).toEqual([
        // The lab, the certificate, the portal, the token, the profile, its account, the devices.
        ...['GET 200', 'POST 200', 'POST 200', 'POST 201', 'POST 201', 'PATCH 200', 'GET 200'],
      ]);
      expect(stdout).toContain('Devices:  3 of 3 enrolled');
      expect(left).toEqual([]);
      const funnel = JSON.parse(stdout.slice(stdout.lastIndexOf('{"data":')));
      expect(funnel.data.attributes).toMatchObject({
        ...{ total: 10, assigned_or_beyond: 10, enrolled: 3, failing: 0, assignment_due: 0 },
      });
    } finally {
      await world.stop();
    }
  }, 60_000);
});
