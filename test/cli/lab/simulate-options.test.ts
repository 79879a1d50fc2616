import { Command } from 'commander';
import { addSimulateCommand } from '../../../src/cli/lab/simulate.js';
import { UsageError } from '../../../src/cli/options.js';

function parse(...args: string[]): Promise<Command> {
  const dep = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addSimulateCommand(dep, 'http://localhost:8080', () => undefined);
  for (const command of dep.commands) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  }
  return dep.parseAsync(['simulate', ...args], { from: 'user' });
}

/** Nothing listens there: what is refused is refused before anybody is asked. */
const NOWHERE = ['--url', 'http://localhost:9'];

describe('muster simulate refuses options that contradict each other', () => {
  it.each([
    ['--enroll account', '--enroll account needs --account'],
    ['--account ada@example.com', '--account goes with --enroll account'],
    ['--enroll ade --token x', '--token goes with --enroll profile or ota'],
    ['--token x --profile y', '--token does not go with --profile'],
    ['--enroll ota --profile y', '--profile goes with --enroll profile'],
    ['--password-file y', '--password-file goes with --account'],
    ['--ca /nope', "--ca can't be read: ENOENT"],
    ['--await-configuration', '--await-configuration goes with --enroll ade'],
  ])('%s', async (options, message) => {
    const error: unknown = await parse(...options.split(' '), ...NOWHERE).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(UsageError);
    expect(String(error)).toContain(message);
  });
});

describe('muster simulate refuses', () => {
  it.each([
    ['--devices', '0'],
    ['--devices', 'many'],
    ['--not-now', '1.5'],
    ['--not-now', ''],
    ['--platform', 'Android'],
    ['--enroll', 'nfc'],
    ['--url', 'localhost:8080'],
    ['--poll-interval', '0'],
  ])('%s %s', async (option, value) => {
    await expect(parse(option, value)).rejects.toThrow(
      expect.objectContaining({ code: 'commander.invalidArgument' }),
    );
  });
});
