import type { DoctorReport } from '../../doctor/doctor.js';
import type { Finding } from '../../doctor/finding.js';

/** The findings as an aligned list, the worst first, and their count. */
export function reportLines({ findings }: DoctorReport): string[] {
  const severityWidth = widest(findings.map(({ severity }) => severity));
  const codeWidth = widest(findings.map(({ code }) => code));
  const indent = ' '.repeat(severityWidth + 2);
  const lines = findings.flatMap(({ severity, code, what, why, cure }) => [
    `${severity.padEnd(severityWidth)}  ${code.padEnd(codeWidth)}  ${oneLine(what)}`,
    ...(why === null ? [] : [`${indent}why:  ${oneLine(why)}`]),
    ...(cure === null ? [] : [`${indent}cure: ${oneLine(cure)}`]),
  ]);
  return [...lines, '', countLine(findings)];
}

function widest(texts: string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}

/** Error texts of others may have line breaks and escape sequences of terminals. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}

function countLine(findings: readonly Finding[]): string {
  const count = (wanted: Finding['severity']) =>
    findings.filter(({ severity }) => severity === wanted).length;
  const [errors, warnings] = [count('error'), count('warning')];
  const parts = [
    `${errors} ${errors === 1 ? 'error' : 'errors'}`,
    `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
    `${count('ok')} ok`,
  ];
  return parts.join(', ');
}
