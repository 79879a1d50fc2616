import type { Command } from 'commander';
import { reportAttributes } from '../../api/server/doctor.js';
import { type Config, ConfigError } from '../../config/config.js';
import { configurationFindings } from '../../doctor/checks/settings.js';
import type { DoctorReport } from '../../doctor/doctor.js';
import { FINDING_SEVERITIES } from '../../doctor/finding.js';
import type { WriteLine } from '../table.js';
import { reportLines } from './doctor-text.js';
import { withDoctor } from './open-doctor.js';

export interface DoctorIo {
  /** Throws ConfigError. */
  readConfig: () => Config;
  write: WriteLine;
  /** Sets the exit code: 0 all is well, 1 warnings, 2 errors. */
  finish: (code: number) => void;
}

/** Examines, prints the report and sets the exit code. */
export async function doctor({ json = false }: { json?: boolean }, io: DoctorIo): Promise<void> {
  const report = await examine(io);
  const lines = json ? [JSON.stringify(reportAttributes(report), null, 2)] : reportLines(report);
  for (const line of lines) io.write(line);
  io.finish(FINDING_SEVERITIES.indexOf(report.status));
}

/** Nothing can be examined with a configuration that a start refuses. */
async function examine({ readConfig }: DoctorIo): Promise<DoctorReport> {
  try {
    return await withDoctor(readConfig(), (opened) => opened.examine());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const found = configurationFindings(error.problems);
    const findings = found.map((one) => ({ check: 'settings', ...one }));
    return { status: 'error', findings, at: new Date() };
  }
}

export function addDoctorCommand(program: Command, io: DoctorIo): void {
  program
    .command('doctor')
    .description('find what is wrong with the server and around it, and what cures it')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nExit code: 0 all is well, 1 there are warnings, 2 there are errors.')
    .action((options: { json?: boolean }) => doctor(options, io));
}
