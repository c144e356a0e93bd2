import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';

/** Makes the keys of a cell's tickets in the folder. What is there already is kept. */
export async function keys({ terminal }: Context, folder: string): Promise<number> {
  try {
    const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(folder);
    terminal.out(`${signingKeyFile}   for arbiters, and nobody else: arbiter --keys FOLDER\n`);
    terminal.out(`${pinnedKeysFile}  for every host: agent --keys FOLDER\n`);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof Error && error.name === 'KeyFileError')
      throw new CliError(EXIT.usage, error.message, 'name another folder, or mend this one', error);
    throw new CliError(
      EXIT.usage,
      `${folder}: ${fileFault(error)}`,
      'name a folder that can be written',
      error,
    );
  }
}
