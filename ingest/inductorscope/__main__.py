from inductorscope.cli.app import main

main()
