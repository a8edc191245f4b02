export { hostScript } from './script.ts'
