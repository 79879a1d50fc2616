import { Command } from 'commander';
import { addSimulateCommand } from '../../src/cli/simulate.js';

function parse(...args: string[]): Promise<Command> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addSimulateCommand(program, 'http://localhost:8080', () => undefined);
  for (const command of program.commands) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  }
  return program.parseAsync(['simulate', ...args], { from: 'user' });
}

describe('muster simulate refuses', () => {
  it.each([
    ['--devices', '0'],
    ['--devices', 'many'],
    ['--not-now', '1.5'],
    ['--not-now', ''],
    ['--platform', 'Android'],
    ['--enroll', 'ade'],
    ['--url', 'localhost:8080'],
    ['--poll-interval', '0'],
  ])('%s %s', async (option, value) => {
    await expect(parse(option, value)).rejects.toThrow(
      expect.objectContaining({ code: 'commander.invalidArgument' }),
    );
  });
});
